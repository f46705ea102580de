#!/usr/bin/env bash
# The steps of `make test`, cheapest first. Run by with-servers.sh, which sets the servers' addresses.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh

: "${QUIPU_TEST_POSTGRES:?run this through tests/bed/with-servers.sh}" "${QUIPU_TEST_REDIS:?}"
need cc build-essential
need pg_dump postgresql-client
# The documented lines and signers are run as a merchant would run them.
need curl curl
need openssl openssl
need script bsdutils
need python3 python3
# What stands in for python3 where several are installed chooses one of them at each call, and takes longer than most calls.
python=$(python3 -c 'import sys; print(sys.executable)')
[ "$python" = "$(command -v python3)" ] || PATH="$(dirname "$python"):$PATH"
need node nodejs
need php php-cli
need jq jq
need promtool prometheus
# Hosted pages are looked at in a browser; its fonts have Sinhala and Georgian.
need npm npm
need chromium chromium
# A `grep -q` would end at the first match, and the list's broken pipe would count as a failure.
fc-list 2>/dev/null | grep NotoSansSinhala >/dev/null || bed_install fonts-noto-core ||
    bed_fail "The Debian package 'fonts-noto-core' is missing and could not be installed (apt-get install fonts-noto-core)."

step() {
    bed_say "$*"
    local begun=$SECONDS
    "$@" && printf '    %s s\n' "$((SECONDS - begun))"
}

step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
# Built once here, with the features of the whole workspace, so that nothing is compiled twice. The black-box tests start
# this binary and never build anything themselves.
step cargo build --workspace --all-targets --locked
export QUIPU_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/quipu"
# A scenario often waits for a settlement or a commit. With eight at a time both cores are busy.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-8}

# Other programs' judgements, one after the other. They run beside the tests, and their output is printed after the tests'.
judgements() {
    step tests/contract/run.sh
    (cd tests/browser && step npm ci --no-audit --no-fund --silent && step node --test pages.mjs reference.mjs states.mjs)
    step tests/bed/docs.sh
}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
judgements >"$printed" 2>&1 &
judges=$!
failed=no
step cargo test --workspace --locked --no-fail-fast || failed=yes
wait "$judges" || failed=yes
cat "$printed"
[ "$failed" = no ] || bed_fail "Some of it failed; see above."

if command -v cargo-deny >/dev/null; then
    step cargo deny --locked --offline check bans licenses sources
else
    echo "cargo-deny is not installed: dependency rules are held by the architecture test here, in full by 'make deny'"
fi
bed_say "all of it passed in $SECONDS s"
