#!/usr/bin/env bash
# Sourced by the scripts beside it: finds programs, and installs Debian packages for those that are missing.
#
#   need PROGRAM PACKAGE   ends the run with advice if PROGRAM is neither there nor to be had
#   need_s3_server         the same for the server that speaks S3, which is built from crates.io; sets $s3_server

# Debian keeps the PostgreSQL server programs out of PATH, in a folder for each major version.
for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V); do
    PATH="$folder:$PATH"
done
export PATH

bed_say() { printf '\033[1m==> %s\033[0m\n' "$*"; }

bed_fail() {
    printf '\n*** %s\n' "$@" >&2
    exit 1
}

bed_as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# A package's own service is not wanted: the bed starts private servers on free ports. While a package is installed, a policy
# forbids to start it. Debian enables it all the same, so that it starts at the next boot.
bed_install() {
    command -v apt-get >/dev/null || return 1
    bed_as_root true 2>/dev/null || return 1
    bed_as_root env DEBIAN_FRONTEND=noninteractive bash -s "$1" >/dev/null <<'AS_ROOT'
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
install() { apt-get install -y -qq --no-install-recommends "$1" </dev/null; }
install "$1" || { apt-get update -qq </dev/null && install "$1"; }
AS_ROOT
}

need() {
    local program=$1 package=$2 folder
    command -v "$program" >/dev/null && return
    bed_say "installing $package (for $program)"
    bed_install "$package" || bed_fail \
        "'$program' is missing, and the Debian package '$package' could not be installed." \
        "Install it yourself (apt-get install $package), or run this as root or with password-less sudo."
    for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V); do
        case ":$PATH:" in *":$folder:"*) ;; *) PATH="$folder:$PATH" ;; esac
    done
    command -v "$program" >/dev/null || bed_fail "Package '$package' is installed, but '$program' is still not to be found."
}

# Built once for all runs, and kept outside the repository. Of the servers that speak S3 it is the one that refuses what the
# real one refuses: wrong secrets, changed and expired URLs, another type than was signed.
need_s3_server() {
    local version=0.14.1 folder="${XDG_CACHE_HOME:-$HOME/.cache}/quipu-bed"
    s3_server="$folder/s3s-fs-$version/bin/s3s-fs"
    [ -x "$s3_server" ] && return
    need cc build-essential
    bed_say "building s3s-fs $version (once, about two minutes)"
    CARGO_TARGET_DIR="$folder/target" CARGO_PROFILE_DEV_DEBUG=0 cargo install s3s-fs --version "$version" --features binary --locked --debug \
        --root "$folder/s3s-fs-$version" </dev/null >"${TMPDIR:-/tmp}/quipu-s3s-fs.log" 2>&1 ||
        { tail -n 20 "${TMPDIR:-/tmp}/quipu-s3s-fs.log" >&2; bed_fail "s3s-fs could not be built from crates.io."; }
    rm -rf "$folder/target"
}
