#!/bin/sh
# Trains elmo-en, from a held-out text and texts to train on; see train.sh.
#
#     sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz 'DATA/enwiki/train-*.txt.xz'
set -eu
exec sh "$(dirname "$0")/train.sh" en "${STEPS:-8000}" "$@"
