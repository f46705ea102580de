#!/usr/bin/env bash
# The long forms of what `make test` holds short: kills, faults, failovers, histories; and what is here only: upgrades from
# an earlier release, and a stop that meets a call without an end. Run by with-servers.sh.
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

# The binary of an earlier release, in `former`, which stays empty where the history does not reach so far. The worktree goes
# with the script; the target folder stays, of its own since both programs have the same name.
former_release() {
    local commit=$1 room=$PWD/target/rolling
    former=
    git cat-file -e "$commit^{commit}" 2>/dev/null || return 0
    git worktree remove --force "$room/tree" 2>/dev/null || true
    git worktree prune
    git worktree add --quiet --detach "$room/tree" "$commit"
    trap "git worktree remove --force '$room/tree'" EXIT
    (cd "$room/tree" && CARGO_TARGET_DIR=$room/target CARGO_PROFILE_RELEASE_LTO=off cargo build --release --locked -p quipu)
    former=$room/target/release/quipu
}

seed=${SEED:-$RANDOM$RANDOM}
echo "seeds from $seed"
step cargo build --workspace --all-targets --profile soak --locked
export QUIPU_BIN="${CARGO_TARGET_DIR:-$PWD/target}/soak/quipu"
export QUIPU_EFFORT=${EFFORT:-20}
# One after the other: each of them uses both cores.
QUIPU_SEED=$seed step cargo test --workspace --profile soak --locked --test suite -- --test-threads 1 \
    crash:: webhooks::kills:: money::chaos:: cluster::
# They wait as long as a stop may take, and as long as a connection may be kept.
step cargo test --workspace --profile soak --locked --test suite -- --ignored running:: patience::
# The last commit with only the first two migrations: earlier ones cannot be upgraded while they run, because the second
# migration removes columns. And the last one before the eighth, which has the features that customers use here.
for commit in 6c7a2876de855737ee84dab1bcd914ab521b72fa 44bbd3dd13db607f73c363ad1d6795f16861d546; do
    step former_release "$commit"
    if [ -n "$former" ]; then
        QUIPU_FORMER_BIN=$former step cargo test --workspace --profile soak --locked --test suite -- --ignored rolling::
    else
        bed_say "rolling upgrades from $commit are left out, because this history does not reach so far (git fetch --unshallow)"
    fi
done
QUIPU_FAULT_RUNS=${FAULTS:-5000} QUIPU_FAULT_SEED=$seed \
    step cargo test --workspace --profile soak --locked --test contract -- --nocapture --test-threads 1 outages:: failover::
QUIPU_SEED=$seed QUIPU_SIMULATE=$((400 * QUIPU_EFFORT)) \
    step cargo test --workspace --profile soak --locked --test contract -- histories::
QUIPU_SIMULATE=${RUNS:-1000000} QUIPU_SEED=$seed \
    step cargo test --workspace --profile soak --locked --lib random_histories
# Worlds, and every planted fault in ten thousand of them.
QUIPU_SEED=$seed step cargo test --workspace --profile soak --locked --test worlds
QUIPU_CONTRACT_EXAMPLES=${EFFORT:-20} QUIPU_CONTRACT_SECONDS=$((15 * ${EFFORT:-20})) QUIPU_CONTRACT_SEED=$seed \
    step tests/contract/run.sh
bed_say "all of it passed in $SECONDS s"
