#!/bin/sh
# Trains elmo-en, from a held-out text and texts to train on; see train.sh. First on one
# Wikipedia, then, from the model of that run, on everything:
#
#     RUN=runs/elmo-en-1 sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz \
#         'DATA/enwiki/train-*.txt.xz'
#     INIT=runs/elmo-en-1 STEPS=2900 sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz \
#         'DATA/enwiki/train-*.txt.xz' 'DATA/enwiki2/train-*.txt.xz' \
#         'DATA/enbooks/train-*.txt.xz'
set -eu
exec sh "$(dirname "$0")/train.sh" en "${STEPS:-8000}" "$@"
