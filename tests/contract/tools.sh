#!/usr/bin/env bash
# Prints the folder of a Python environment with the programs of requirements.txt, installed once for all runs. Several may
# ask for it at once: one installs, and the others wait.
set -euo pipefail
exec 3>&1 >&2
cd "$(dirname "$0")"
. ../bed/install.sh

need python3 python3
tools="${XDG_CACHE_HOME:-$HOME/.cache}/quipu-bed/contract-$(sha256sum requirements.txt | cut -c1-12)"
mkdir -p "${tools%/*}"
exec 4>"$tools.lock"
flock 4
if [ ! -e "$tools/complete" ]; then
    bed_say "installing schemathesis and its company (once)"
    python3 -c 'import ensurepip' 2>/dev/null || bed_install python3-venv || bed_fail "Python cannot make a virtual environment."
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt </dev/null ||
        bed_fail "The programs of tests/contract/requirements.txt could not be installed."
    touch "$tools/complete"
fi
echo "$tools" >&3
