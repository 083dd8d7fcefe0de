"""Nothing of this folder can even be imported without the extra `beam`."""

import importlib.util

if importlib.util.find_spec("apache_beam") is None:
    collect_ignore_glob = ["test_*"]
