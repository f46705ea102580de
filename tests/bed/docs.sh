#!/usr/bin/env bash
# The API documentation of every crate. A warning is an error, and so is a link of ours to a page that is not there.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh
need python3 python3
documented=${CARGO_TARGET_DIR:-$PWD/target}/doc

document() {
    # rustdoc links to another crate only if that one has a folder at that moment. cargo documents the crates in any order and
    # empties the folder of each before, so only one of them may be under way.
    cargo tree --workspace --locked --depth 0 --prefix none --format '{p}' | sed -n 's/ v.*//; s/-/_/g; s/^quipu/&/p' | sort -u |
        while read -r crate; do mkdir -p "$documented/$crate"; done &&
        # With examples the dependencies have the same features as in the lints, and are not looked at once more. Programs
        # are named, since pages of the simulation's would lie over those of its library.
        RUSTDOCFLAGS="-D warnings" cargo doc --jobs 1 --workspace --no-deps --locked --lib --bin quipu --bin quipu-bench --examples &&
        python3 tests/bed/dead_links.py "$documented"
}

# Pages that somebody made by other means may have such links, and count as fresh.
document || { cargo clean --doc && document; }
