#!/bin/sh
# Trains elmo-en, exports and measures it; repeated, it goes on where it was stopped.
#
#     sh saved_models/train_en.sh DEV TEXT [TEXT ...]
#
# DEV and TEXT are files or patterns in quotes. The shipped model's:
# enwiki/dev.txt.xz 'enwiki/train-*.txt.xz'
set -eu
here=$(dirname "$0")
dev=$1
shift
keras-elmo pretrain --resume --out "${RUN:=runs/elmo-en}" \
    --options "$here/options_en.json" --corpus "$@" --validation "$dev" \
    --vocabulary-size 30000 --num-sampled 2048 --batch-tokens 2560 \
    --optimizer adam --learning-rate 0.004 --schedule cosine \
    --steps "${STEPS:=6500}" --warmup-steps $((STEPS / 20)) \
    --dtype mixed_bfloat16 --validate-every 1500
keras-elmo export --model "$RUN" --out "${OUT:=$here/elmo-en}" --language-model
keras-elmo evaluate --model "$OUT" --corpus "$dev"
