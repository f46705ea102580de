#!/usr/bin/env bash
# The steps of `make fuzz`: every reader of foreign bytes, a minute each.
#
#   TIME    seconds for each reader (60)
#   READER  this one only
#
# libFuzzer begins with the kept corpus and writes what it finds new to fuzz/corpus, which is not kept. What makes a reader fail
# is in fuzz/artifacts; put it into tests/fuzzing/corpus, where `make test` tries it from then on.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh

need c++ g++
# Not `grep -q`, which ends at the first match: the list's broken pipe would count as a failure.
if ! rustup toolchain list | grep '^nightly' >/dev/null; then
    bed_say "no nightly toolchain: changing the corpus at random instead, without looking at branches"
    QUIPU_EFFORT=${EFFORT:-20} exec cargo test --release --locked -p quipu-fuzzing
fi
command -v cargo-fuzz >/dev/null || { bed_say "installing cargo-fuzz"; cargo install cargo-fuzz --locked; }
# `cargo fuzz` has no --locked: it would fetch other versions than the kept ones, and say nothing.
cargo +nightly metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null ||
    bed_fail "fuzz/Cargo.lock is not up to date; put it right with: cargo +nightly fetch --manifest-path fuzz/Cargo.toml"
for reader in ${READER:-$(cargo +nightly fuzz list)}; do
    bed_say "$reader"
    mkdir -p "fuzz/corpus/$reader"
    cargo +nightly fuzz run "$reader" "fuzz/corpus/$reader" "tests/fuzzing/corpus/$reader" -- \
        -max_total_time="${TIME:-60}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
done
