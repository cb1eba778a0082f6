#!/usr/bin/env bash
# Measures the processor time that remains for each frame when a graphics card draws.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/card.sh MODEL.glb ...      default: the models in fixtures/models

Draws ten seconds of 1080p with an adapter that draws nothing, and prints for each model:
  triangles, and whether it moves
  light           new: computed during the video; known: loaded from the cache
  ms per frame    elapsed time
  CPU ms          time of all processors
  bytes written   to buffers of the card
Encoding is not included. A card that draws a frame in less than this time waits for the processor.
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
models=()
for model in "${@:-$root/fixtures/models/}"; do
    if [[ -d $model ]]; then models+=("$(realpath "$model")"/*.glb); else models+=("$(realpath "$model")"); fi
done
cd "$root"
cargo bench --quiet --package plinth-pipeline --features noop --profile dev --bench card -- "${models[@]}"
