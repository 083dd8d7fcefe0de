# `make demo` and `make test` need nothing but Python 3.11 to 3.13 and make.
PYTHON ?= python3
VENV ?= .venv

# Packages to install beside those of pyproject.toml.
MORE ?=

RUN = $(VENV)/bin/python
INSTALLED = $(VENV)/.installed

# TensorFlow's start-up notes hide the output that matters here.
export TF_CPP_MIN_LOG_LEVEL ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Dozens of processes import TensorFlow: with what the first has compiled, the others
# take a third of the time.
unexport PYTHONDONTWRITEBYTECODE

# A process takes some GB.
PYTEST = $(RUN) -m pytest -p no:anyio --numprocesses auto --maxprocesses 4 --dist worksteal
# What oneDNN computes in other ways on other processors.
COMPILED = tests/layers tests/embedding/test_embedder.py tests/export/test_saved_model.py \
	tests/downstream/test_elmo_embedding.py tests/models/test_encoder.py \
	tests/words/test_nearest.py tests/words/test_substitutes.py \
	tests/serving/test_model.py

.PHONY: help demo test test-fast test-whole test-all test-processors lint format dist \
	docs notebooks linkcheck install clean

help:
	@echo "make demo             train a small model, use it in a classifier, draw a picture"
	@echo "make test             all tests but make test-whole"
	@echo "make test-fast        the tests that build no graphs, in a minute"
	@echo "make test-whole       every example, page and benchmark, from its beginning to its end"
	@echo "make test-all         both in one run"
	@echo "make test-processors  fast tests of compiled graphs, as on other processors"
	@echo "make lint             ruff and mypy"
	@echo "make format           let ruff rewrite the files"
	@echo "make dist             build a wheel and an sdist, and try the wheel elsewhere"
	@echo "make docs             the documentation as web pages, in build/docs"
	@echo "make notebooks        write the notebooks of docs/notebooks from their pages"
	@echo "make linkcheck        ask other hosts whether the documentation's links work"
	@echo "make install          make $(VENV) and install the package (the others do)"
	@echo "make clean            remove $(VENV) and the caches"

demo: $(INSTALLED)
	@$(RUN) examples/demo.py

test: $(INSTALLED)
	@$(PYTEST) -m "not whole"

test-fast: $(INSTALLED)
	@$(PYTEST) -m "not slow and not graph"

test-whole: $(INSTALLED)
	@$(PYTEST) -m whole

test-all: $(INSTALLED)
	@$(PYTEST)

# `make test` runs them with the processor's own settings: with oneDNN, or without it.
OWN = from tensorflow.python.util import _pywrap_util_port as port; \
	raise SystemExit(not port.IsMklEnabled())
test-processors: $(INSTALLED)
	$(RUN) -c "$(OWN)" || TF_ENABLE_ONEDNN_OPTS=1 $(PYTEST) -m "not slow" $(COMPILED)
	TF_ENABLE_ONEDNN_OPTS=0 ONEDNN_MAX_CPU_ISA=AVX2 $(PYTEST) -m "not slow" $(COMPILED)

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

dist: $(INSTALLED)
	rm -rf dist
	$(RUN) -m build --no-isolation
	$(RUN) .ci/check_wheel.py dist/*.whl

# A warning, such as of a link to nowhere, is an error.
docs: $(VENV)/.docs
	$(RUN) -m sphinx -q -W --keep-going docs build/docs
	@echo "Open build/docs/index.html"

# Those of docs/notebooks, from their pages.
notebooks:
	$(RUN) docs/notebooks/make.py

# Needs a network.
linkcheck: $(VENV)/.docs
	$(RUN) -m sphinx -q -b linkcheck docs build/linkcheck

$(VENV)/.docs: $(INSTALLED)
	@$(RUN) -m pip install --quiet --quiet --no-compile --editable '.[docs]'
	@touch $@

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
	@$(RUN) -m pip install --quiet --quiet --no-compile --editable '.[dev,plots]' $(MORE)
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf build/docs build/linkcheck
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
