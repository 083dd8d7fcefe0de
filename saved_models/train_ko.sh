#!/bin/sh
# Trains elmo-ko, from a held-out text and texts to train on; see train.sh.
#
#     sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz \
#         'DATA/kowiki/train-0[01]-*.txt.xz' DATA/nsmc/reviews.txt.xz
set -eu
exec sh "$(dirname "$0")/train.sh" ko "${STEPS:-8000}" "$@"
