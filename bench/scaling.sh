#!/usr/bin/env bash
# Runs bench/scaling.py with its Python packages in a virtual environment.
#
#   bench/scaling.sh [--help | arguments of scaling.py]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
environment=${CARGO_TARGET_DIR:-$root/target}/plots
if ! "$environment/bin/python" -c 'import matplotlib, numpy, PIL' 2>/dev/null; then
    echo "scaling: installing with pip into $environment: matplotlib, numpy and Pillow (about 35 MB to download)"
    rm -rf "$environment"
    "$("$root/scripts/find.sh" venv)" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check 'matplotlib>=3.8' 'numpy>=1.24' 'pillow>=9.4'
fi
PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
export PLINTH_FFMPEG
exec "$environment/bin/python" -B "$root/bench/scaling.py" "$@"
