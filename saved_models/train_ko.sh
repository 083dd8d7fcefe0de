#!/bin/sh
# Trains elmo-ko, from a held-out text and texts to train on; see train.sh. First on half
# of Wikipedia and the reviews, then, from the model of that run, on all of both:
#
#     RUN=runs/elmo-ko-1 sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz \
#         'DATA/kowiki/train-0[01]-*.txt.xz' DATA/nsmc/reviews.txt.xz
#     INIT=runs/elmo-ko-1 OPTIMIZER=muon STEPS=2650 sh saved_models/train_ko.sh \
#         DATA/kowiki/dev.txt.xz 'DATA/kowiki/train-*.txt.xz' DATA/nsmc/reviews.txt.xz
set -eu
exec sh "$(dirname "$0")/train.sh" ko "${STEPS:-8000}" "$@"
