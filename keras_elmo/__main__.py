"""`python -m keras_elmo` is `keras-elmo`."""

import sys

from keras_elmo.cli import main

if __name__ == "__main__":
    sys.exit(main())
