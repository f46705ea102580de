#!/usr/bin/env bash
# The long forms of what `make test` holds short: kills, faults, histories. Run by with-servers.sh.
#
#   EFFORT  how many times as long (20)
#   FAULTS  runs of the fault proxy between store and server (5000)
#   RUNS    random histories against the model (1000000)
#   SEED    the first seed of both; a random one unless given
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh

: "${QUIPU_TEST_POSTGRES:?run this through tests/bed/with-servers.sh}"
need cc build-essential
step() {
    bed_say "$*"
    local begun=$SECONDS
    "$@"
    printf '    %s s\n' "$((SECONDS - begun))"
}

seed=${SEED:-$RANDOM$RANDOM}
echo "seeds from $seed"
step cargo build --workspace --all-targets --release --locked
export QUIPU_BIN="${CARGO_TARGET_DIR:-$PWD/target}/release/quipu"
export QUIPU_EFFORT=${EFFORT:-20}
# One after the other: each of them uses both cores.
step cargo test --workspace --release --locked --test suite -- --test-threads 1 \
    crash:: webhooks::kills:: money::chaos:: cluster::
QUIPU_FAULT_RUNS=${FAULTS:-5000} QUIPU_FAULT_SEED=$seed \
    step cargo test --workspace --release --locked --test contract -- --nocapture outages::
QUIPU_SEED=$seed step cargo test --workspace --release --locked --test contract -- histories::
QUIPU_SIMULATE=${RUNS:-1000000} QUIPU_SEED=$seed \
    step cargo test --workspace --release --locked --lib random_histories
# Worlds, and every planted fault in ten thousand of them.
QUIPU_SEED=$seed step cargo test --workspace --release --locked --test worlds
bed_say "all of it passed in $SECONDS s"
