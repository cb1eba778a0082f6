#!/usr/bin/env bash
# Installs the requirements of `make compare` (three.js and a browser driver with npm and FLIP with pip into TOOLS_FOLDER,
# Chromium with apt-get if missing), then renders and compares.
#
#   scripts/compare/compare.sh TOOLS_FOLDER ARGUMENTS_OF_compare.py
set -euo pipefail

tools=${1:?"usage: scripts/compare/compare.sh TOOLS_FOLDER …"}
shift
here=$(cd "$(dirname "$0")" && pwd)
say() { echo "compare: $*"; }

for command in node npm; do
    if ! command -v "$command" >/dev/null; then
        say "$command is missing: install Node.js (Debian, Ubuntu: apt-get install nodejs npm)" >&2
        exit 1
    fi
done
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $chromium ]]; then
    if ! command -v apt-get >/dev/null; then
        say "Chromium is missing, and this system has no apt-get to install it with" >&2
        exit 1
    fi
    as_root=()
    if ((EUID != 0)); then as_root=(sudo); fi
    say "installing Chromium with apt-get"
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium
    chromium=$(command -v chromium)
fi
mkdir -p "$tools"
if [[ ! -d $tools/node_modules/three || ! -d $tools/node_modules/puppeteer-core ]]; then
    say "installing three and puppeteer-core with npm into $tools"
    npm install --silent --no-audit --no-fund --prefix "$tools" "three@0.187" "puppeteer-core@24"
fi
if ! "$tools/venv/bin/python" -c 'import flip_evaluator, numpy, PIL' 2>/dev/null; then
    say "installing flip-evaluator, numpy and pillow with pip into $tools/venv"
    python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet flip-evaluator numpy pillow
fi
exec "$tools/venv/bin/python" -B "$here/compare.py" --modules "$tools/node_modules" --chromium "$chromium" "$@"
