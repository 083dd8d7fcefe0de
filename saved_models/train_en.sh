#!/bin/sh
# Trains elmo-en, from a held-out text and texts to train on; see train.sh. First on one
# Wikipedia, then, from the model of that run, on everything, once more, and twice with twice
# the LSTM cells; of the fifth run only a third is in the mean. The sixth and the seventh read
# longer rows, and the model is the mean of a run's end and its start:
#
#     OPTIONS=saved_models/options_en_512.json RUN=runs/elmo-en-1 \
#         sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz 'DATA/enwiki/train-*.txt.xz'
#     ALL="DATA/enwiki/train-*.txt.xz DATA/enwiki2/train-*.txt.xz
#         DATA/enbooks/train-*.txt.xz"
#     INIT=runs/elmo-en-1 RUN=runs/elmo-en-2 STEPS=2900 sh saved_models/train_en.sh \
#         DATA/enwiki/dev.txt.xz $ALL
#     INIT=runs/elmo-en-2 RUN=runs/elmo-en-3 STEPS=3000 OPTIMIZER=muon \
#         LEARNING_RATE=0.002 SEED=9 sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz $ALL
#     INIT=runs/elmo-en-3 RUN=runs/elmo-en-4 OPTIONS=saved_models/options_en.json \
#         STEPS=3400 OPTIMIZER=muon LEARNING_RATE=0.002 SEED=11 \
#         sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz $ALL
#     INIT=runs/elmo-en-4 RUN=runs/elmo-en-5 AVERAGE="runs/elmo-en-4 runs/elmo-en-4" \
#         STEPS=850 OPTIMIZER=muon LEARNING_RATE=0.002 SEED=13 DTYPE=float32 \
#         sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz $ALL
#     INIT=runs/elmo-en-5-exported RUN=runs/elmo-en-6 AVERAGE=runs/elmo-en-5-exported \
#         STEPS=1270 OPTIMIZER=muon LEARNING_RATE=0.001 SEED=15 DTYPE=float32 \
#         MAX_TOKENS=258 sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz $ALL
#     INIT=runs/elmo-en-6-exported RUN=runs/elmo-en-7 AVERAGE=runs/elmo-en-6-exported \
#         STEPS=2000 OPTIMIZER=muon LEARNING_RATE=0.002 SEED=17 MAX_TOKENS=258 \
#         sh saved_models/train_en.sh DATA/enwiki/dev.txt.xz $ALL
set -eu
exec sh "$(dirname "$0")/train.sh" en "${STEPS:-8000}" "$@"
