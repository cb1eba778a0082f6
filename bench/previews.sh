#!/usr/bin/env bash
# Measures how fast the composer's previews are, with a worker in the server's process and with a worker in another
# process.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/previews.sh [trip | server | postgres | sqlite | scarce | render]        default: all, one after the other

trip prints how long a request and its picture travel in memory and through PostgreSQL, without drawing. The others print, for a
model of 102 400 triangles: the first picture, the full one and the one after, settings that are changed one after the other (640
pixels wide), pictures a second, the processor time of an idle preview, and ten people at once. scarce measures ten people where memory
suffices for two models. render measures a paid render while ten people turn models without pause.
Run it on an idle machine.
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    "") name=(previews::round_trip serve::preview_speed serve::preview_beside_render) ;;
    trip) name=(previews::round_trip) ;;
    server) name=(serve::preview_speed::previews_in_the_process) ;;
    postgres | sqlite) name=("serve::preview_speed::previews_of_another_process_on_$1") ;;
    scarce) name=(serve::preview_speed::scarce_memory) ;;
    render) name=(serve::preview_beside_render) ;;
    *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
exec scripts/tools.sh test cargo test --workspace --test program -- \
    --ignored --nocapture --test-threads 1 "${name[@]}"
