"""The package as a user installs it: from a wheel, into a folder of its own."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from tests.helpers.fresh_process import ROOT

# What a wheel is made of.
_SOURCES = ("keras_elmo", "saved_models", "pyproject.toml", "README.md", "LICENSE")


def install_wheel(folder: Path) -> Path:
    """Returns the folder of an installed wheel, which is built by the first caller.

    Dependencies are borrowed. The processes of pytest-xdist share `folder`.
    """
    site, source = folder / "site", folder / "source"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not site.exists():
            # Not in the clone, where a build leaves files.
            for name in _SOURCES:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / name, source / name)
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-compile"]
            options += ["--disable-pip-version-check", "--target", site, source]
            pip = [sys.executable, "-m", "pip", "install", *options]
            subprocess.run(pip, check=True, timeout=300)
    return site
