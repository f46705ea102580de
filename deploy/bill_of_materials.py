#!/usr/bin/env python3
"""What the binary is made of, from cargo's own metadata.

    bill_of_materials.py FOLDER

writes FOLDER/quipu.cdx.json (CycloneDX 1.5) and FOLDER/LICENCES.txt: every crate that is linked into `quipu` or takes
part in compiling it, with its version, its licence, and the texts of licence that the crate ships.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def told_by(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def metadata():
    """What cargo knows of the build for this machine, which is the one that `make release` makes."""
    [host] = re.findall(r"^host: (.+)$", told_by("rustc", "-vV"), re.MULTILINE)
    return json.loads(
        told_by("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host)
    )


def parts_of_the_binary(data):
    """The packages that `quipu` needs to be built, itself first, and who needs whom."""
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    [start] = [id for id, package in packages.items() if package["name"] == "quipu"]
    needs, waiting = {}, [start]
    while waiting:
        id = waiting.pop()
        if id in needs:
            continue
        kinds = lambda dependency: {kind["kind"] for kind in dependency["dep_kinds"]}
        needs[id] = sorted(d["pkg"] for d in nodes[id]["deps"] if kinds(d) & {None, "build"})
        waiting.extend(needs[id])
    return start, {id: packages[id] for id in needs}, needs


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package):
    described = {
        "type": "application" if package["name"] == "quipu" else "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
        "licenses": [{"expression": licence(package)}],
    }
    if package.get("description"):
        described["description"] = " ".join(package["description"].split())
    if package.get("repository"):
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return described


def licence(package):
    # "MIT/Apache-2.0" is how older crates write "MIT OR Apache-2.0".
    text = (package["license"] or "").replace("/", " OR ")
    if not text:
        sys.exit(f"{package['name']} {package['version']} does not say under which licence it is")
    return text


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    return [path for path in sorted(folder.iterdir()) if path.is_file() and TEXTS.match(path.name)]


def main(folder):
    data = metadata()
    start, packages, needs = parts_of_the_binary(data)
    ordered = sorted(packages.values(), key=lambda package: (package["name"], package["version"]))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[start])},
        "components": [component(package) for package in ordered if package["id"] != start],
        "dependencies": [
            {"ref": purl(package), "dependsOn": sorted({purl(packages[id]) for id in needs[package["id"]]})}
            for package in ordered
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "quipu.cdx.json").write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    with open(folder / "LICENCES.txt", "w", encoding="utf-8") as out:
        out.write("quipu is made of these crates.\n\n")
        for package in ordered:
            out.write(f"{package['name']} {package['version']}: {licence(package)}\n")
        for package in ordered:
            for path in texts(package) if package["source"] else []:
                out.write(f"\n{'=' * 80}\n{package['name']} {package['version']}: {path.name}\n{'=' * 80}\n\n")
                out.write(path.read_text(encoding="utf-8", errors="replace").strip() + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
