#!/bin/sh
# Trains elmo-ko, from a held-out text and texts to train on; see train.sh. First on half
# of Wikipedia and the reviews, then, from the model of that run, on all of both, and again
# (in float32, for the processor had no AMX), whose mean with the second the fourth goes on
# from, in longer rows, and the fifth after it:
#
#     RUN=runs/elmo-ko-1 sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz \
#         'DATA/kowiki/train-0[01]-*.txt.xz' DATA/nsmc/reviews.txt.xz
#     ALL="DATA/kowiki/train-*.txt.xz DATA/nsmc/reviews.txt.xz"
#     INIT=runs/elmo-ko-1 RUN=runs/elmo-ko-2 STEPS=2650 OPTIMIZER=muon \
#         sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz $ALL
#     INIT=runs/elmo-ko-2 RUN=runs/elmo-ko-3 STEPS=1400 OPTIMIZER=muon DTYPE=float32 \
#         LEARNING_RATE=0.002 SEED=11 AVERAGE=runs/elmo-ko-2 \
#         sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz $ALL
#     INIT=runs/elmo-ko-3-exported RUN=runs/elmo-ko-4 STEPS=2400 OPTIMIZER=muon \
#         LEARNING_RATE=0.002 SEED=13 MAX_TOKENS=258 \
#         sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz $ALL
#     INIT=runs/elmo-ko-4-exported RUN=runs/elmo-ko-5 STEPS=2600 OPTIMIZER=muon \
#         LEARNING_RATE=0.002 SEED=15 MAX_TOKENS=258 \
#         sh saved_models/train_ko.sh DATA/kowiki/dev.txt.xz $ALL
set -eu
exec sh "$(dirname "$0")/train.sh" ko "${STEPS:-8000}" "$@"
