#!/usr/bin/env python3
"""Prints an SBOM (CycloneDX 1.6, JSON) of the packages of Debian or Ubuntu that an image or a wheel contains.

usage: scripts/debian_sbom.py NAME VERSION STATUS OS-RELEASE [PACKAGE ...]

STATUS is a file like /var/lib/dpkg/status, OS-RELEASE a file like /etc/os-release. Without PACKAGE the SBOM lists all installed
packages, for an image. With PACKAGE it lists only these packages, for a wheel that contains their libraries, and the script exits
with 1 if one of them is not installed. The SBOM names no licences, because Debian states them as texts, in
/usr/share/doc/PACKAGE/copyright.
"""

import json
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

# Packages that are not from the distribution.
OWN = {"plinth"}


def installed(status):
    """Returns the fields of each installed package, by name."""
    found = {}
    for stanza in status.split("\n\n"):
        lines = (line.partition(":") for line in stanza.splitlines() if not line.startswith(" "))
        fields = {name: value.strip() for name, _, value in lines}
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields
    return found


def component(package, system):
    name, version = package["Package"], package["Version"]
    distribution = f"{system['ID']}-{system['VERSION_ID']}"
    origin = "" if name in OWN else f"{system['ID']}/"
    purl = f"pkg:deb/{origin}{name}@{quote(version, safe='')}?arch={package['Architecture']}&distro={distribution}"
    # Without the field Source, the source package has the name and version of this package.
    source, _, source_version = package.get("Source", name).partition(" ")
    properties = [{"name": "debian:source", "value": f"{source} {source_version.strip('()') or version}"}]
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "properties": properties}


def document(name, version, status, system, wanted):
    packages = installed(status)
    missing = [package for package in wanted if package not in packages]
    if missing:
        sys.exit(f"debian_sbom: not installed: {' '.join(missing)}")
    names = sorted(set(wanted) or packages)
    whole = {"type": "library" if wanted else "container", "bom-ref": name, "name": name, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole},
        "components": [component(packages[package], system) for package in names],
    }


if __name__ == "__main__":
    name, version, status, release, *wanted = sys.argv[1:]
    system = dict(line.split("=", 1) for line in shlex.split(Path(release).read_text()) if "=" in line)
    print(json.dumps(document(name, version, Path(status).read_text(), system, wanted), indent=1))
