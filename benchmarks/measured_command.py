"""Runs a `keras-elmo` command; prints its moments and its peak memory as JSON.

python benchmarks/measured_command.py embed --model DIR --input FILE --out FILE ...
"""

import json
import sys
import time

import common

from keras_elmo.cli import main

if __name__ == "__main__":
    moments = {"imported": time.time()}
    status = main(sys.argv[1:])
    moments["ended"] = time.time()
    print(json.dumps({**moments, "peak_bytes": common.peak_bytes()}))
    sys.exit(status)
