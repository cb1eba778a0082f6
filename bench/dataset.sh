#!/usr/bin/env bash
# Measures how much time each step of a dataset render takes.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/dataset.sh [MODEL.glb] [datasetQuality]      default: the sample model in fixtures/, 100x800

Makes a dataset of a model in parts and as a whole, and prints the seconds of each by the clock and by all processors:
  render alone   start of the job to the layers of the last view; nothing is written
  encode alone   as many views, already in memory, to the complete ZIP
  together       the whole job
then together divided by the longer of both, the time that all processors need for both, and the size of the ZIP.
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
