#!/usr/bin/env bash
# What x264's presets cost and keep, and what Plinth sets (`low`, plinth-media's Effort::Low): processor seconds, bytes
# and SSIM over the raw frames of one second of each model at 1920×1080.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    echo "usage: bench/encoders.sh [MODEL.glb …]      environment: CRF (17), PLINTH"
    exit 0
fi
[[ $# -gt 0 ]] || set -- "$root/fixtures/models/flight_helmet.glb"

PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
export PLINTH_FFMPEG
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=(-f rawvideo -pixel_format yuv420p -video_size 1920x1080 -framerate 30)
low=$(sed -n 's/.*("ultrafast", "\(.*\):").*/\1/p' "$root/crates/plinth-media/src/ffmpeg/command.rs")
[[ -n $low ]] || { echo "encoders: Effort::Low is not found" >&2; exit 1; }
printf '%-28s %-10s %8s %10s  %s\n' model encoder seconds bytes SSIM
for model; do
    "$plinth" render "$model" -o "$work/film.mov" --length 1 --quiet >/dev/null
    "$PLINTH_FFMPEG" -loglevel error -y -i "$work/film.mov" -f lavfi -i color=white:s=3840x2160:r=30 \
        -filter_complex '[1][0]overlay=shortest=1,scale=1920:1080,format=yuv420p' -f rawvideo "$work/film.yuv"
    for encoder in medium veryfast superfast ultrafast low; do
        options=(-preset "$encoder")
        [[ $encoder == low ]] && options=(-preset ultrafast -x264-params "$low")
        seconds=$("$PLINTH_FFMPEG" -hide_banner -benchmark -y "${raw[@]}" -i "$work/film.yuv" -threads 4 -c:v libx264 \
            -crf "${CRF:-17}" -g 30 "${options[@]}" "$work/out.mp4" 2>&1 | sed -n 's/.*utime=\([0-9.]*\)s.*/\1/p')
        ssim=$("$PLINTH_FFMPEG" -hide_banner -i "$work/out.mp4" "${raw[@]}" -i "$work/film.yuv" -lavfi '[0][1]ssim' \
            -f null - 2>&1 | sed -n 's/.*All:\([0-9.]*\).*/\1/p')
        printf '%-28s %-10s %8s %10s  %s\n' "$(basename "$model" .glb)" "$encoder" "$seconds" \
            "$(wc -c <"$work/out.mp4")" "$ssim"
    done
done
