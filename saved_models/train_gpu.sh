#!/bin/sh
# Trains a model in a quarter of an hour of a GPU, on a machine that has CUDA and JAX alone;
# benchmarks/quarter_hour.py says how the files get there and back. Repeated, it goes on where
# it was stopped.
#
#     sh saved_models/train_gpu.sh HOST SIZES [SIZES ...]
#
# HOST is what `quarter_hour.py unpack` wrote. Each of the files SIZES is trained for FIRST
# minutes, 1.5 if not given; the run with the lowest perplexity is HOST/run, and goes on for
# MINUTES, 3.5 if not given. Its learning rate falls over PLAN, the minutes of both, 5 if not
# given. From its end HOST/longer reads rows of up to 256 words for LONGER minutes, 1.5 if not
# given. WORDS are predicted, 28000 if not given; MORE are arguments of `quarter_hour.py train`.
#
#     MINUTES=7 PLAN=12 sh saved_models/train_gpu.sh HOST
#
# goes on with the HOST/run that came by `pack --run`; PLAN is the minutes of all quarters.
set -eu
if [ $# -lt 1 ]; then
    echo "expected: HOST [SIZES ...]; received none" >&2
    exit 2
fi
host=$1
shift
for sizes; do
    if [ ! -f "$sizes" ]; then
        echo "there is no file $sizes" >&2
        exit 2
    fi
done
if [ $# -eq 0 ] && [ ! -e "$host/run" ]; then
    echo "expected: files of sizes, or a run that goes on; there is no $host/run" >&2
    exit 2
fi
here=$(dirname "$0")
export KERAS_BACKEND=jax PYTHONPATH="$host/site"
# What one stage has compiled, the next one reads.
export JAX_COMPILATION_CACHE_DIR="${JAX_COMPILATION_CACHE_DIR:-$host/compiled}"
train() {
    out=$1
    shift
    python3 "$here/../benchmarks/quarter_hour.py" train --host "$host" --out "$out" "$@" \
        --words "${WORDS:-28000}" ${MORE:-}
    # SIGTERM stops it with status 0.
    [ -e "$out/perplexity.txt" ] || exit 1
}
plan=${PLAN:-5}
if [ ! -e "$host/run" ]; then
    lowest=
    for sizes; do
        run=$host/run-$(basename "$sizes" .json)
        # One that a stopped call has trained is not trained for longer than the others.
        [ -e "$run/perplexity.txt" ] ||
            train "$run" --sizes "$sizes" --minutes "${FIRST:-1.5}" --plan "$plan"
        perplexity=$(cat "$run/perplexity.txt")
        if awk "BEGIN { exit !($perplexity < ${lowest:-1e9}) }"; then
            lowest=$perplexity
            best=$run
        fi
    done
    mv "$best" "$host/run"
fi
sizes=$host/run/options.json
train "$host/run" --sizes "$sizes" --minutes "${MINUTES:-3.5}" --plan "$plan"
rm -rf "$host/longer"
train "$host/longer" --sizes "$sizes" --minutes "${LONGER:-1.5}" --init "$host/run" \
    --max-tokens 258
