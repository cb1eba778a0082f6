#!/usr/bin/env bash
# Measures the time per frame by model, tier and pass, and compares the result with bench/baseline.json. "encode %" is the
# fraction of the time from the first frame to the complete files in which rendering waits for conversion and encoders.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/bench.sh [--bless] [MODEL.glb ...]      default: the sample model in fixtures/

  --bless    write the result to the baseline instead of comparing with it

environment:
  TIERS      tiers to measure (default: "share standard"; any of share standard 4k pro)
  RUNS       runs of each case; the fastest counts (default: 3)
  LENGTH     seconds of video (default: 2)
  FLAGS      more flags of plinth render, such as "--effect showcase"
  LIMIT      fail when a row is slower than the baseline by more than this many percent (default: report only)
  BASELINE   file to compare with (default: bench/baseline.json)
  PLINTH     program to measure (default: target/debug/plinth)
WORDS
}

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}
baseline=${BASELINE:-$root/bench/baseline.json}
read -r -a tiers <<<"${TIERS:-share standard}"
read -r -a flags <<<"${FLAGS:-}"
length=${LENGTH:-2}
runs=${RUNS:-3}

bless=false
models=()
for argument in "$@"; do
    case $argument in
        -h | --help) usage; exit 0 ;;
        --bless) bless=true ;;
        -*) usage >&2; exit 2 ;;
        *) models+=("$argument") ;;
    esac
done
if ((${#models[@]} == 0)); then models=("$root/fixtures/models/flight_helmet.glb"); fi
PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
# The cache is switched off, so that no run uses the baked light of an earlier run.
PLINTH_CACHE_MB=0
export PLINTH_FFMPEG PLINTH_CACHE_MB
if ! command -v "$plinth" >/dev/null; then
    echo "bench: $plinth is missing; run cargo build -p plinth" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the value of KEY in pretty-printed JSON on stdin, which has one member per line.
member() { sed -n -e 's/^ *"'"$1"'": "\(.*\)",\{0,1\}$/\1/p' -e 's/^ *"'"$1"'": \([0-9.e+-]*\),\{0,1\}$/\1/p' | head -n 1; }
# Prints the number KEY in the row ROW of the baseline.
known() {
    [[ -f $baseline ]] || return 0
    { grep -F "\"$1\":" "$baseline" || true; } | sed -n 's/.*"'"$2"'": *\([0-9.]*\).*/\1/p'
}

# Renders a model once in a tier. Writes "ms-per-frame first-frame-seconds total-seconds finish-seconds encode-percent" to the
# file `run`.
measure() {
    local model=$1 tier=$2 out=$work/out.mp4 json=$work/manifest.json
    if [[ $tier == pro ]]; then out=$work/out.mov; fi
    "$plinth" render "$model" -o "$out" --quality "$tier" --length "$length" "${flags[@]}" --json >"$json"
    adapter=$(member adapter <"$json")
    awk -v render="$(member renderSecs <"$json")" -v frames="$(member frames <"$json")" \
        -v first="$(member firstFrameSecs <"$json")" -v total="$(member totalSecs <"$json")" \
        -v finish="$(member finishSecs <"$json")" -v write="$(member writeSecs <"$json")" \
        'BEGIN {
            printf "%.2f %.3f %.3f %.3f ", 1000 * render / (frames > 1 ? frames - 1 : 1), first, total, finish
            printf "%.1f\n", 100 * (write + finish) / (render + finish)
        }' \
        >"$work/run"
}

# Measures the milliseconds per frame of each pass. Frames do not overlap in this measurement, so the sum exceeds the usual frame time.
passes() {
    local model=$1 tier=$2 out=$work/out.mp4
    if [[ $tier == pro ]]; then out=$work/out.mov; fi
    "$plinth" render "$model" -o "$out" --quality "$tier" --length 0.4 "${flags[@]}" --profile --quiet |
        sed -n 's/ ms per frame$//p' | awk '{ ms = $NF; $NF = ""; sub(/ +$/, ""); printf "    %s %.1f", $0, ms } END { print "" }'
}

printf '%-28s %-9s %12s %12s %12s %12s %10s %10s\n' model tier "ms/frame" "first s" "finish s" "total s" "encode %" "baseline"
rows=()
slower=false
adapter=
for model in "${models[@]}"; do
    name=$(basename "$model" .glb)
    for tier in "${tiers[@]}"; do
        : >"$work/runs"
        for ((run = 0; run < runs; run++)); do
            measure "$model" "$tier"
            cat "$work/run" >>"$work/runs"
        done
        # The minimum over all runs counts, because other work on the machine can only add time.
        read -r ms first total finish share < <(awk '
            NR == 1 { for (i = 1; i <= 5; i++) least[i] = $i }
            { for (i = 1; i <= 5; i++) if ($i + 0 < least[i] + 0) least[i] = $i }
            END { print least[1], least[2], least[3], least[4], least[5] }' "$work/runs")
        row="$name $tier"
        before=$(known "$row" msPerFrame)
        change=-
        if [[ -n $before ]] && ! $bless; then
            change=$(awk -v a="$before" -v b="$ms" 'BEGIN { printf "%+.1f %%", 100 * (b / a - 1) }')
            if [[ -n ${LIMIT:-} ]] && awk -v a="$before" -v b="$ms" -v l="$LIMIT" 'BEGIN { exit !(b > a * (1 + l / 100)) }'; then
                slower=true
            fi
        fi
        printf '%-28s %-9s %12s %12s %12s %12s %10s %10s\n' \
            "$name" "$tier" "$ms" "$first" "$finish" "$total" "$share" "$change"
        passes "$model" "$tier"
        rows+=("    \"$row\": {\"msPerFrame\": $ms, \"firstFrameSecs\": $first, \"totalSecs\": $total}")
    done
done
echo "adapter: $adapter; $(nproc 2>/dev/null || echo '?') cores; $length s of video; minimum of $runs runs"

if $bless; then
    {
        printf '{\n  "adapter": "%s",\n  "lengthSecs": %s,\n  "rows": {\n' "$adapter" "$length"
        for ((i = 0; i < ${#rows[@]}; i++)); do
            if ((i + 1 < ${#rows[@]})); then echo "${rows[i]},"; else echo "${rows[i]}"; fi
        done
        printf '  }\n}\n'
    } >"$baseline"
    echo "baseline written: $baseline"
elif [[ -f $baseline ]]; then
    theirs=$(member adapter <"$baseline")
    if [[ $theirs != "$adapter" ]]; then
        echo "note: the baseline was measured on $theirs; its numbers cannot be compared with this machine"
    fi
fi
if $slower; then
    echo "bench: slower than the baseline by more than $LIMIT %" >&2
    exit 1
fi
