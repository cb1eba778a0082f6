#!/usr/bin/env bash
# The most memory that a render takes, with all its encoders.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/memory.sh [MODEL.glb]      default: the sample model in fixtures/

Renders with --all and prints, for each case, the most resident memory of the program, of its encoders, and of all of them
at one time (pages that processes share are counted in each). Fails when the last length of a tier takes more than LIMIT
percent above its first: memory must not grow with length.

environment:
  CASES    tiers with lengths in seconds (default: "share:2,20 pro:2"; such as "standard:2,10 4k:2 pro:2,4")
  LIMIT    percent (default: 10)
  FLAGS    more flags of plinth render
  PLINTH   program to measure (default: target/debug/plinth)
WORDS
}

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}
limit=${LIMIT:-10}
read -r -a cases <<<"${CASES:-share:2,20 pro:2}"
read -r -a flags <<<"${FLAGS:-}"
model=$root/fixtures/models/flight_helmet.glb
case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    ?*) model=$1 ;;
esac
if ! command -v "$plinth" >/dev/null; then
    echo "memory: $plinth is missing; run cargo build -p plinth" >&2
    exit 1
fi
if ! [[ -r /proc/self/status ]]; then
    echo "memory: this system has no /proc to measure with" >&2
    exit 1
fi

work=$(mktemp -d)
pid=
# The render ends with this script; its wish to stop leaves no files.
trap 'if [[ -n $pid ]]; then kill "$pid" 2>/dev/null; wait "$pid"; fi; rm -rf "$work"' EXIT

# Resident kilobytes of a process, 0 when it is gone: PID. No subprocess, so that looks are cheap.
resident() {
    local key value _
    kilobytes=0
    while read -r key value _; do
        if [[ $key == VmRSS: ]]; then kilobytes=$value; fi
    done 2>/dev/null <"/proc/$1/status" || true
}

# Renders once: "program encoders together", in megabytes.
measure() { # TIER SECONDS
    local out=$work/out.mp4 list children child
    local own=0 encoders=0 together=0 now sum
    if [[ $1 == pro ]]; then out=$work/out.mov; fi
    "$plinth" render "$model" -o "$out" --quality "$1" --length "$2" --all -q "${flags[@]}" >/dev/null 2>"$work/said" &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        resident "$pid"
        if ((kilobytes > own)); then own=$kilobytes; fi
        now=$kilobytes sum=$kilobytes children=
        # Encoders are started by any thread.
        for list in /proc/"$pid"/task/*/children; do
            { read -r children <"$list"; } 2>/dev/null || true
            for child in $children; do
                resident "$child"
                sum=$((sum + kilobytes))
            done
            children=
        done
        if ((sum > together)); then together=$sum; fi
        if ((sum - now > encoders)); then encoders=$((sum - now)); fi
        sleep 0.05
    done
    if ! wait "$pid"; then
        pid=
        cat "$work/said" >&2
        exit 1
    fi
    pid=
    echo "$((own / 1024)) $((encoders / 1024)) $((together / 1024))" >"$work/result"
}

grown=false
printf '%-9s %8s %12s %13s %13s\n' tier seconds "program MB" "encoders MB" "together MB"
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
        echo "memory: $tier takes $together MB for ${lengths[-1]} s and $first MB for ${lengths[0]} s" >&2
        grown=true
    fi
done
echo "model: $(basename "$model"); $(nproc 2>/dev/null || echo '?') cores"
if $grown; then exit 1; fi
