#!/usr/bin/env bash
# The steps of `make bench`. Run by with-servers.sh --durable, which sets the servers' addresses.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh

: "${QUIPU_TEST_POSTGRES:?run this through tests/bed/with-servers.sh}"
need cc build-essential
need pgbench postgresql
need taskset util-linux

# Every viewer of a hosted page is a descriptor, here and in the gateway.
ulimit -n 40000 2>/dev/null || ulimit -n "$(ulimit -Hn)"

cargo build --release --locked -p quipu -p quipu-tests --bins
target=${CARGO_TARGET_DIR:-$PWD/target}
export QUIPU_BIN="$target/release/quipu"
exec "$target/release/quipu-bench" docs/BENCHMARKS.md
