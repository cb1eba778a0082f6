#!/usr/bin/env bash
# Measures how much time each step of a dataset render takes.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/dataset.sh [MODEL.glb] [datasetQuality]      default: the sample model in fixtures/, 100x800

Renders and encodes a dataset of a model, first separately and then together, and prints the elapsed and processor seconds:
  render alone   from the start of the job to the layers of the last view; nothing is written
  encode alone   from the same number of views in memory to the complete ZIP
  together       the whole job
Then prints `together` divided by the longer of the two steps, the time that all processors need for both steps, and the size of
the ZIP.
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
model=$(realpath "${1:-$root/fixtures/models/flight_helmet.glb}")
cd "$root"
cargo bench --quiet --workspace --profile dev --bench dataset -- "$model" "${2:-100x800}"
echo "model: $(basename "$model" .glb), ${2:-100x800}; $(nproc 2>/dev/null || echo '?') cores"
