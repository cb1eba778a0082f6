#!/usr/bin/env bash
# Measures the cost of each effect at 1080p: milliseconds of all passes of a frame, and the ratio to a frame without effects.
# Each round measures all effects once, so that other work on the machine slows all of them down alike. The minimum over the
# rounds counts.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}
model=${1:-$root/fixtures/models/flight_helmet.glb}
rounds=${ROUNDS:-3}
# Length in seconds of the video; the time is the mean over its frames.
length=${LENGTH:-0.2}

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    echo "usage: bench/effects.sh [MODEL.glb]      environment: ROUNDS (3), LENGTH (0.2 s of video), EFFECTS (names), PLINTH"
    exit 0
fi

PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
export PLINTH_FFMPEG
names=() settings=()
effect() {
    if [[ -z ${EFFECTS:-} || $1 == none || " $EFFECTS " == *" $1 "* ]]; then
        names+=("$1")
        settings+=("$2")
    fi
}
three='"n8aoEnabled":true,"bloomEnabled":true,"dofEnabled":true'
effect none '{}'
effect n8ao '{"n8aoEnabled":true}'
effect bloom '{"bloomEnabled":true}'
effect dof '{"dofEnabled":true}'
effect n8ao+bloom+dof "{$three}"
effect strongest "{$three,\"bloomStrength\":2,\"dofStrength\":1,\"n8aoIntensity\":32}"
effect filter '{"filter":"warm"}'
effect toon '{"filter":"toon"}'
effect vignette '{"vignette":0.5}'
effect reflector '{"reflector":true}'
effect flat-shadow '{"shadowMode":"flat"}'
effect accumulated '{"shadowMode":"accumulated"}'
effect no-shadow '{"shadows":false}'
effect floating '{"envMode":"floating"}'
effect grounded '{"envMode":"grounded"}'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((round = 0; round < rounds; round++)); do
    for i in "${!names[@]}"; do
        "$plinth" render "$model" -o "$work/out.mp4" --quality standard --length "$length" --settings "${settings[i]}" --profile --quiet |
            sed -n 's/ ms per frame$//p' | awk '{ sum += $NF } END { if (!NR) exit 1; printf "%.1f\n", sum }' >>"$work/$i"
    done
done

least() { sort -n "$1" | head -n 1; }
base=$(least "$work/0")
printf '%-16s %12s %8s\n' effect "passes ms" times
for i in "${!names[@]}"; do
    awk -v name="${names[i]}" -v ms="$(least "$work/$i")" -v base="$base" 'BEGIN { printf "%-16s %12.1f %8.2f\n", name, ms, ms / base }'
done
