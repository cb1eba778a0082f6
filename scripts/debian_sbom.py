#!/usr/bin/env python3
"""What something holds of Debian's or Ubuntu's packages, as a CycloneDX 1.6 document in JSON.

usage: scripts/debian_sbom.py NAME VERSION STATUS OS-RELEASE [PACKAGE ...]

STATUS is a file of stanzas such as /var/lib/dpkg/status, OS-RELEASE one such as /etc/os-release. Without PACKAGE the document
lists all that are installed, as of an image; with it these alone, as of a wheel that holds their libraries. Exits with 1 if
one of them is not installed. Debian states licences as texts: each package's is /usr/share/doc/PACKAGE/copyright.
"""

import json
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

# Not of the distribution.
OWN = {"plinth"}


def installed(status):
    """The stanzas of packages that are installed, by their names."""
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
    # A source package has this package's name and version unless it is named.
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
