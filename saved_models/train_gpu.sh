#!/bin/sh
# Trains a model in a quarter of an hour of a GPU, on a machine that has CUDA and JAX alone;
# benchmarks/quarter_hour.py says how the files get there and back.
#
#     sh saved_models/train_gpu.sh HOST [SIZES ...]
#
# HOST is what `quarter_hour.py unpack` wrote. Each of the files SIZES is trained for FIRST
# minutes, 1.5 if not given; the run with the lowest perplexity is HOST/run, and goes on for
# MINUTES, 3.5 if not given. Its learning rate falls over PLAN, the minutes of both, 5 if not
# given. From its end HOST/longer reads rows of up to 256 words for LONGER minutes, 1.5 if not
# given. Where HOST/run is there, by `pack --run`, it goes on at once; PLAN is then the minutes
# of all quarters. WORDS are predicted, 28000 if not given; MORE are arguments of
# `quarter_hour.py train`.
set -eu
if [ $# -lt 1 ]; then
    echo "expected: HOST [SIZES ...]; received none" >&2
    exit 2
fi
host=$1
shift
here=$(dirname "$0")
export KERAS_BACKEND=jax PYTHONPATH="$host/site"
# What one stage has compiled, the next one reads.
export JAX_COMPILATION_CACHE_DIR="${JAX_COMPILATION_CACHE_DIR:-$host/compiled}"
train() {
    python3 "$here/../benchmarks/quarter_hour.py" train --host "$host" "$@" \
        --words "${WORDS:-28000}" ${MORE:-}
}
if [ ! -e "$host/run" ]; then
    lowest=
    for sizes; do
        out=$host/run-$(basename "$sizes" .json)
        train --sizes "$sizes" --out "$out" --minutes "${FIRST:-1.5}" --plan "${PLAN:-5}"
        perplexity=$(cat "$out/perplexity.txt")
        if awk "BEGIN { exit !($perplexity < ${lowest:-1e9}) }"; then
            lowest=$perplexity
            best=$out
        fi
    done
    mv "$best" "$host/run"
fi
sizes=$host/run/options.json
train --sizes "$sizes" --out "$host/run" --minutes "${MINUTES:-3.5}" --plan "${PLAN:-5}"
train --sizes "$sizes" --out "$host/longer" --minutes "${LONGER:-1.5}" --init "$host/run" \
    --max-tokens 258
