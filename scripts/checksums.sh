#!/usr/bin/env bash
# Writes SHA256SUMS of all files in a folder, into that folder: scripts/checksums.sh FOLDER
set -euo pipefail
cd "$1"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS
