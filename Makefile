# `make demo` and `make test` need nothing but Python 3.11 to 3.13 and make.
PYTHON ?= python3
VENV ?= .venv

RUN = $(VENV)/bin/python
INSTALLED = $(VENV)/.installed

# TensorFlow's start-up notes hide the output that matters here.
export TF_CPP_MIN_LOG_LEVEL ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK = 1

# Each takes some GB. A file's tests share what they have trained; tests/conftest.py
# says which files come first.
IN_PARALLEL = --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-fast lint format install clean

help:
	@echo "make demo       train a small model, put it into a classifier, draw a picture"
	@echo "make test       all tests"
	@echo "make test-fast  the tests that take seconds"
	@echo "make lint       ruff and mypy"
	@echo "make format     let ruff rewrite the files"
	@echo "make install    make $(VENV) and install the package into it (the others do)"
	@echo "make clean      remove $(VENV) and the caches"

demo: $(INSTALLED)
	@$(RUN) examples/demo.py

test: $(INSTALLED)
	@$(RUN) -m pytest $(IN_PARALLEL)

test-fast: $(INSTALLED)
	@$(RUN) -m pytest $(IN_PARALLEL) -m "not slow"

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

install: $(INSTALLED)

# The stamp is older than pyproject.toml when the dependencies have changed.
$(INSTALLED): pyproject.toml
	@command -v "$(PYTHON)" > /dev/null || { \
	    echo "Python 3.11 to 3.13 is needed; name one with: make PYTHON=..."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	    echo "Python 3.11 to 3.13 is needed, not $$("$(PYTHON)" --version 2>&1);" \
	         "name one with: make PYTHON=..."; exit 1; }
	@test -x $(VENV)/bin/pip || "$(PYTHON)" -m venv $(VENV)
	@echo "Installing keras_elmo and what it needs into $(VENV) (a few minutes) ..."
	@$(RUN) -m pip install --quiet --quiet --editable '.[dev,plots]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
