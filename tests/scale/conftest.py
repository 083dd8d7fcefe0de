"""Nothing of this folder can even be imported without the extra `beam`."""

import importlib.util

from tests.helpers.installed import REQUIRED

if importlib.util.find_spec("apache_beam") is None and not REQUIRED:
    collect_ignore_glob = ["test_*"]
