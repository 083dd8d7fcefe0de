"""Runs the blocks of a page with the package that is installed in a folder.

    python run_page.py SITE BLOCKS EAGERLY

BLOCKS is a JSON file of `[kind, code]` pairs: "python", or "command", a call of
`keras-elmo`. What each prints is written beside it, to `printed.json`. A warning is an
error, as in the tests. The page starts in the working folder, which is empty. EAGERLY
is 1 for a page whose steps TensorFlow computes without graphs, or 0.
"""

import contextlib
import io
import json
import shlex
import sys
import warnings
from pathlib import Path

# Runtimes that a block shows, which need not be installed.
OPTIONAL = {"ai_edge_litert", "sklearn", "spacy"}


def main(site, path, eagerly):
    # TensorFlow and Keras are here: what they would import, too, may be found now.
    # The first is this script's folder, where one is named like a package.
    paths = [path for path in sys.path[1:] if Path(path).name != "absent"]
    sys.path[:] = [site, *paths]
    import keras_elmo
    from keras_elmo import cli

    assert keras_elmo.__file__.startswith(site), keras_elmo.__file__
    warnings.simplefilter("error")
    # Keras's own conversions, with NumPy 2.4.
    ignored = "__array__ implementation doesn't accept"
    warnings.filterwarnings("ignore", ignored, DeprecationWarning)
    if eagerly == "1":
        import tensorflow as tf

        tf.config.run_functions_eagerly(True)
        # Those of tf.data stay.
        warnings.filterwarnings("ignore", "Even though the `tf.config.experimental")
    names, printed = {"__name__": "__main__"}, []
    for kind, code in json.loads(Path(path).read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            if kind == "command":
                status = cli.main(shlex.split(code)[1:])
                assert status == 0, code
            else:
                try:
                    exec(compile(code, "block", "exec"), names)
                except ModuleNotFoundError as error:
                    if error.name not in OPTIONAL:
                        raise
        printed.append(out.getvalue())
    Path(path).with_name("printed.json").write_text(json.dumps(printed))


if __name__ == "__main__":
    main(*sys.argv[1:])
