#!/bin/sh
# Trains a model, exports and measures it; repeated, it goes on where it was stopped.
#
#     sh saved_models/train.sh LANGUAGE STEPS DEV TEXT [TEXT ...]
#
# DEV and TEXT are files or patterns in quotes. The sizes are those of OPTIONS=FILE,
# options_LANGUAGE.json if not given. INIT=MODEL goes on from a model, with its words and
# sizes, or with the LSTM cells of OPTIONS, and larger batches; its LEARNING_RATE is 0.003
# and its SEED, of the order of the text, 7 if not given.
# AVERAGE=MODELS exports the mean of the run's weights and those of models, such as INIT; one
# that is named twice counts twice.
# MAX_TOKENS=258 reads rows of up to 256 words and their two boundaries, 66 if not given.
# OPTIMIZER=muon is another optimizer than adam, which is used if not given.
# RUN=DIR and OUT=DIR are where the run and the exported model are written,
# runs/elmo-LANGUAGE and runs/elmo-LANGUAGE-exported if not given. DTYPE=float32 is faster
# than mixed_bfloat16 on an Intel Xeon without AMX (no amx_bf16 in /proc/cpuinfo), and
# slower on one with it and on an AMD EPYC with avx512_bf16.
set -eu
if [ $# -lt 4 ]; then
    echo "expected: LANGUAGE STEPS DEV TEXT [TEXT ...]; received: $*" >&2
    exit 2
fi
language=$1
steps=$2
dev=$3
shift 3
here=$(dirname "$0")
max_tokens=${MAX_TOKENS:-66}
if [ -n "${INIT:-}" ]; then
    set -- --corpus "$@" --init "$INIT" ${OPTIONS:+--options "$OPTIONS"} \
        --batch-tokens 12288 --learning-rate "${LEARNING_RATE:-0.003}" \
        --seed "${SEED:-7}" --warmup-steps $((steps / 29)) --validate-every 1000
else
    set -- --corpus "$@" --options "${OPTIONS:-$here/options_$language.json}" \
        --vocabulary-size 28000 --batch-tokens 5120 --learning-rate 0.004 \
        --warmup-steps $((steps / 20)) --validate-every 2000
fi
keras-elmo pretrain --resume --out "${RUN:=runs/elmo-$language}" "$@" \
    --validation "$dev" --steps "$steps" --num-sampled 2048 --max-tokens "$max_tokens" \
    --optimizer "${OPTIMIZER:-adam}" --schedule cosine --dtype "${DTYPE:-mixed_bfloat16}"
: "${OUT:=$RUN-exported}"
# SIGTERM stops pretrain with status 0.
if ! grep -qs "^$steps," "$RUN/history.csv"; then
    echo "$RUN is stopped before update $steps; repeat the command to go on" >&2
    exit 1
fi
# One that is older is of another run: export says that it is there, and ends this.
[ "$OUT" -nt "$RUN/weights.hdf5" ] ||
    keras-elmo export --model "$RUN" ${AVERAGE:+--average $AVERAGE} --out "$OUT" \
        --language-model --half-weights >&2
keras-elmo evaluate --model "$OUT" --corpus "$dev" --max-tokens "$max_tokens"
