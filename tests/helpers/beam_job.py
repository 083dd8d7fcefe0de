"""Calls a function of keras_elmo.scale in its own process, like whoever starts a job.

python -m tests.helpers.beam_job FUNCTION ARGUMENTS [BEAM OPTIONS]

ARGUMENTS is JSON. Beam's workers import what they need, and nothing of this file.
"""

import json
import sys

from apache_beam.options.pipeline_options import PipelineOptions

from keras_elmo import scale

if __name__ == "__main__":
    name, arguments, *options = sys.argv[1:]
    getattr(scale, name)(**json.loads(arguments), options=PipelineOptions(options))
