#!/usr/bin/env python3
"""Lists the libraries that are linked into the program, from `cargo metadata` and the sources that cargo has downloaded, and the
third-party scripts that the program includes.

usage: scripts/linked.py licences TARGET-TRIPLE    the licence texts of all crates
       scripts/linked.py sbom TARGET-TRIPLE        a CycloneDX 1.6 document in JSON, with the scripts that the web UI includes

A crate without a licence file is listed only with its SPDX expression. Exits with 1 if a crate names no licence, or if the
README of the vendored scripts does not describe one.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

NAMES = ("licen", "copying", "notice", "unlicense")
ROOT = "plinth"
# Folder of third-party scripts, whose README.md has a table that describes them, and the crate that includes them.
VENDORED, VENDORED_BY = Path("crates/plinth-studio/assets/vendor"), "plinth-studio"


class Graph:
    """The packages that are linked into the program: its direct and indirect dependencies, without build and dev dependencies."""

    def __init__(self, target):
        command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        packages = {package["id"]: package for package in found["packages"]}
        self.root = next(id for id, package in packages.items() if package["name"] == ROOT)
        self.dependencies, queue = {}, [self.root]
        nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
        while queue:
            id = queue.pop()
            normal = [d["pkg"] for d in nodes[id]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
            self.dependencies[id] = sorted(normal)
            queue.extend(pkg for pkg in normal if pkg not in self.dependencies)
        linked = [packages[id] for id in self.dependencies]
        self.packages = sorted(linked, key=lambda package: (package["name"], package["version"]))
        self.foreign = [package for package in self.packages if package["source"]]


def licence(package):
    said = package["license"] or package["license_file"]
    if not said:
        sys.exit(f"linked: {package['name']} {package['version']} names no licence")
    # Older crates write "MIT/Apache-2.0" instead of an SPDX expression.
    return re.sub(r"\s*/\s*", " OR ", said)


def texts(package):
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def licences(graph):
    by_text, without = {}, []
    for package in graph.foreign:
        name = f"{package['name']} {package['version']} ({licence(package)})"
        found = texts(package)
        for text in found:
            by_text.setdefault(text, []).append(name)
        if not found:
            without.append(name)
    print(f"{len(graph.foreign)} libraries are linked into {ROOT}.\n")
    if without:
        print("These name their licence and carry no text of it:\n")
        print("\n".join(f"    {name}" for name in without) + "\n")
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print("=" * 100 + "\n" + "\n".join(names) + "\n" + "-" * 100 + "\n" + text + "\n")


def checksums():
    """Returns the SHA-256 of each crate by name and version, from Cargo.lock."""
    entry = re.compile(r'name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"')
    return {found[:2]: found[2] for found in entry.findall(Path("Cargo.lock").read_text())}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def component(package, sums):
    found = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"],
             "purl": purl(package), "licenses": [{"expression": licence(package)}]}
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def vendored():
    """Returns the scripts of npm packages that the web UI includes, as components of the SBOM."""
    row = re.compile(r"^\| `(.*?)` \| \[(.*?)\]\(.*?\) ([0-9][0-9.]*).*? \| ([^,|]*)", re.MULTILINE)
    rows = {file: rest for file, *rest in row.findall((VENDORED / "README.md").read_text())}
    found = []
    for path in sorted(VENDORED.iterdir()):
        if path.suffix in (".md", ".LICENSE"):
            continue
        if path.name not in rows:
            sys.exit(f"linked: {VENDORED}/README.md does not describe {path.name}")
        name, version, expression = rows[path.name]
        url = f"pkg:npm/{name}@{version}"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        found.append({"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url,
                      "licenses": [{"expression": expression.strip()}], "hashes": [{"alg": "SHA-256", "content": digest}]})
    return found


def sbom(graph):
    sums, refs = checksums(), {package["id"]: purl(package) for package in graph.packages}
    parts = {package["id"]: component(package, sums) for package in graph.packages}
    program = {**parts.pop(graph.root), "type": "application"}
    dependencies = {refs[id]: [refs[d] for d in below] for id, below in sorted(graph.dependencies.items())}
    scripts = vendored()
    includes = next(refs[package["id"]] for package in graph.packages if package["name"] == VENDORED_BY)
    dependencies[includes] += [script["bom-ref"] for script in scripts]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": program},
        "components": [*parts.values(), *scripts],
        "dependencies": [{"ref": ref, "dependsOn": below} for ref, below in dependencies.items()],
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    {"licences": licences, "sbom": sbom}[sys.argv[1]](Graph(sys.argv[2]))
