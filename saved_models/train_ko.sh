#!/bin/sh
# Trains elmo-ko, exports and measures it; repeated, it goes on where it was stopped.
#
#     sh saved_models/train_ko.sh DEV TEXT [TEXT ...]
#
# DEV and TEXT are files or patterns in quotes. The shipped model's:
# kowiki/dev.txt.xz 'kowiki/train-*.txt.xz' nsmc/reviews.txt.xz
set -eu
here=$(dirname "$0")
dev=$1
shift
keras-elmo pretrain --resume --out "${RUN:=runs/elmo-ko}" \
    --options "$here/options_ko.json" --corpus "$@" --validation "$dev" \
    --vocabulary-size 30000 --num-sampled 2048 --batch-tokens 2560 \
    --optimizer adam --learning-rate 0.004 --schedule cosine \
    --steps "${STEPS:=6500}" --warmup-steps $((STEPS / 20)) \
    --dtype mixed_bfloat16 --validate-every 1500
keras-elmo export --model "$RUN" --out "${OUT:=$here/elmo-ko}" --language-model
keras-elmo evaluate --model "$OUT" --corpus "$dev"
