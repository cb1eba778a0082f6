#!/usr/bin/env bash
# Measures the peak memory of a render with all its encoders.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/memory.sh [MODEL.glb]      default: the sample model in fixtures/

Renders videos with --all, or datasets with the given number of views, and prints for each case the peak resident memory of
the program, of its encoders, and of all of them together (shared pages are counted in each process). Fails if the last
length of a tier takes more than LIMIT percent more memory than the first length, because memory must not grow with the length.

environment:
  CASES    tiers with lengths in seconds, or sizes of datasets with numbers of views
           (default: "share:2,20 pro:2"; such as "standard:2,10 4k:2 pro:2,4 100x800:5,50")
  LIMIT    percent (default: 10)
  RENDERS  number of renders at the same time, whose memory is added up (default: 1)
  FLAGS    more flags of plinth render
  PLINTH   program to measure (default: target/debug/plinth)
WORDS
}

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}
limit=${LIMIT:-10}
renders=${RENDERS:-1}
read -r -a cases <<<"${CASES:-share:2,20 pro:2}"
read -r -a flags <<<"${FLAGS:-}"
model=$root/fixtures/models/flight_helmet.glb
case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    ?*) model=$1 ;;
esac
PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
export PLINTH_FFMPEG
if ! command -v "$plinth" >/dev/null; then
    echo "memory: $plinth is missing; run cargo build -p plinth" >&2
    exit 1
fi
if ! [[ -r /proc/self/status ]]; then
    echo "memory: this script needs /proc, which this system does not have" >&2
    exit 1
fi

work=$(mktemp -d)
pids=()
# When this script ends, it ends the renders, too, which then remove their files.
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; wait "$pid"; done; rm -rf "$work"' EXIT

# Prints the resident kilobytes of the process PID, 0 if it has ended. Uses no subprocess, so that polling is cheap.
resident() {
    local key value _
    kilobytes=0
    while read -r key value _; do
        if [[ $key == VmRSS: ]]; then kilobytes=$value; fi
    done 2>/dev/null <"/proc/$1/status" || true
}

# Prints a transforms.json with VIEWS cameras on a circle around the model, for images of SIDE pixels.
cameras() {
    awk -v views="$1" -v side="$2" 'BEGIN {
        printf "{\"camera_angle_x\": 0.69, \"w\": %d, \"h\": %d, \"frames\": [", side, side
        for (i = 0; i < views; i++) {
            s = sin(6.283185307179586 * i / views); c = cos(6.283185307179586 * i / views)
            printf "%s{\"transform_matrix\": [", i ? ", " : ""
            printf "[%.15f, 0, %.15f, %.15f], [%.15f, 0, %.15f, %.15f], ", c, s, 3.5 * s, s, -c, -3.5 * c
            printf "[0, 1, 0, 0], [0, 0, 0, 1]]}"
        }
        print "]}"
    }'
}

# Renders, and writes the peak memory of programs, encoders and both together to the file `result`, in megabytes.
measure() { # TIER SECONDS, or SIZE VIEWS
    local list children child pid number alive=true
    local programs=0 encoders=0 together=0 now sum
    local ending=mp4 asked=(--quality "$1" --length "$2" --all)
    case $1 in
        pro) ending=mov ;;
        *x*)
            cameras "$2" "${1#*x}" >"$work/cameras.json"
            ending=zip asked=(--output dataset --cameras "$work/cameras.json")
            ;;
    esac
    for ((number = 0; number < renders; number++)); do
        "$plinth" render "$model" -o "$work/out$number.$ending" "${asked[@]}" -q "${flags[@]}" >/dev/null 2>>"$work/said" &
        pids+=("$!")
    done
    while $alive; do
        alive=false now=0 sum=0
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || continue
            alive=true
            resident "$pid"
            now=$((now + kilobytes)) sum=$((sum + kilobytes)) children=
            # An encoder is listed as a child of the thread that started it, so the lists of all threads are read.
            for list in /proc/"$pid"/task/*/children; do
                { read -r children <"$list"; } 2>/dev/null || true
                for child in $children; do
                    resident "$child"
                    sum=$((sum + kilobytes))
                done
                children=
            done
        done
        if ((now > programs)); then programs=$now; fi
        if ((sum > together)); then together=$sum; fi
        if ((sum - now > encoders)); then encoders=$((sum - now)); fi
        sleep 0.05
    done
    for pid in "${pids[@]}"; do
        if ! wait "$pid"; then
            pids=()
            cat "$work/said" >&2
            exit 1
        fi
    done
    pids=()
    echo "$((programs / 1024)) $((encoders / 1024)) $((together / 1024))" >"$work/result"
}

grown=false
printf '%-9s %8s %12s %13s %13s\n' tier length "program MB" "encoders MB" "together MB"
for case in "${cases[@]}"; do
    tier=${case%%:*}
    first=
    IFS=, read -r -a lengths <<<"${case#*:}"
    for length in "${lengths[@]}"; do
        measure "$tier" "$length"
        read -r own encoders together <"$work/result"
        printf '%-9s %8s %12s %13s %13s\n' "$tier" "$length" "$own" "$encoders" "$together"
        first=${first:-$together}
    done
    if ((together * 100 > first * (100 + limit))); then
        echo "memory: $tier takes $together MB for a length of ${lengths[-1]} and $first MB for ${lengths[0]}" >&2
        grown=true
    fi
done
echo "model: $(basename "$model"); $(nproc 2>/dev/null || echo '?') cores"
if $grown; then exit 1; fi
