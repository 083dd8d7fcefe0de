"""Makes an environment of some installed packages, without a download."""

import importlib.metadata
import sysconfig
import venv
from pathlib import Path

from packaging.requirements import Requirement


def make_environment(folder, names):
    """Returns the Python of a new environment, which has these packages alone.

    The packages are linked, so it takes a second. `names` are those of distributions,
    with extras if need be. TensorFlow is left out, which keras-elmo names.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    scheme = {"base": folder, "platbase": folder}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    for distribution in _needed(names):
        for top in {file.parts[0] for file in distribution.files or ()}:
            path, link = Path(distribution.locate_file(top)), site / top
            is_ours = top not in ("..", "__pycache__") and not top.endswith(".pth")
            if is_ours and path.exists() and not link.exists():
                link.symlink_to(path)
    return folder / "bin" / "python"


def _needed(names):
    """Returns the distributions of some requirements, and of what these require."""
    found, waiting = {}, [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        key = (requirement.name.lower().replace("_", "-"), *sorted(requirement.extras))
        if key in found or key[0].startswith("tensorflow"):
            continue
        found[key] = importlib.metadata.distribution(requirement.name)
        for line in found[key].requires or ():
            needed = Requirement(line)
            extras = [{"extra": extra} for extra in (*requirement.extras, "")]
            if needed.marker is None or any(map(needed.marker.evaluate, extras)):
                waiting.append(needed)
    return found.values()
