#!/usr/bin/env bash
# Compares encoders: libx264 with several presets, and libx264 and the hardware encoders that work on this machine with
# the options that Plinth sets, libx264 also with other numbers of threads. Prints CPU seconds, elapsed seconds, bytes and
# SSIM over the raw frames of one second of each model at 1920×1080.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
plinth=$(realpath "${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}")

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    echo "usage: bench/encoders.sh [MODEL.glb …]      environment: CRF of the presets (17), PLINTH"
    exit 0
fi
[[ $# -gt 0 ]] || set -- "$root/fixtures/models/flight_helmet.glb"

ffmpeg=$("$root/scripts/find.sh" ffmpeg libx264)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=(-f rawvideo -pixel_format yuv420p -video_size 1920x1080 -framerate 30)

# This script, called in place of ffmpeg, records the options with which Plinth calls ffmpeg, so that they need not be repeated here.
cat >"$work/recorder" <<EOF
#!/usr/bin/env bash
[[ "\$*" != *" 1920x1080 "* ]] || printf '%s\0' "\$@" >"$work/call"
exec "$ffmpeg" "\$@"
EOF
chmod +x "$work/recorder"
encoders=(libx264)
while read -r encoder; do encoders+=("$encoder"); done < <(
    "$plinth" doctor --json --ffmpeg "$ffmpeg" | sed -n 's/.*"\(h264_[a-z]*\)": "works".*/\1/p')
for encoder in "${encoders[@]}"; do
    "$plinth" render "$root/fixtures/models/flight_helmet.glb" -o "$work/call.mp4" --length 0.03 --quiet \
        --ffmpeg "$work/recorder" --encoder "$encoder" >/dev/null
    mv "$work/call" "$work/call.$encoder"
done

row() { # NAME, then ffmpeg's arguments
    local name=$1 seconds ssim
    shift
    seconds=$("$ffmpeg" -hide_banner -benchmark -y "$@" "$work/out.mp4" 2>&1 |
        sed -n 's/.*utime=\([0-9.]*\)s.*rtime=\([0-9.]*\)s.*/\1 \2/p')
    ssim=$("$ffmpeg" -hide_banner -i "$work/out.mp4" "${raw[@]}" -i "$work/film.yuv" -lavfi '[0][1]ssim' \
        -f null - 2>&1 | sed -n 's/.*All:\([0-9.]*\).*/\1/p')
    printf '%-28s %-25s %8s %8s %10s  %s\n' "$(basename "$model" .glb)" "$name" $seconds "$(wc -c <"$work/out.mp4")" "$ssim"
}

printf '%-28s %-25s %8s %8s %10s  %s\n' model encoder CPU elapsed bytes SSIM
for model; do
    "$plinth" render "$model" -o "$work/film.mov" --length 1 --quiet --ffmpeg "$ffmpeg" >/dev/null
    "$ffmpeg" -loglevel error -y -i "$work/film.mov" -f lavfi -i color=white:s=3840x2160:r=30 \
        -filter_complex '[1][0]overlay=shortest=1,scale=1920:1080,format=yuv420p' -f rawvideo "$work/film.yuv"
    for preset in medium veryfast superfast ultrafast; do
        row "$preset" "${raw[@]}" -i "$work/film.yuv" -threads 4 -c:v libx264 -crf "${CRF:-17}" -g 30 -preset "$preset"
    done
    for encoder in "${encoders[@]}"; do
        mapfile -d '' -t call <"$work/call.$encoder"
        # Removes the options at the beginning that silence ffmpeg, and the output file at the end.
        call=("${call[@]:3:${#call[@]}-4}")
        row "plinth $encoder" "${call[@]/#pipe:0/$work/film.yuv}"
        if [[ $encoder == libx264 ]]; then
            for threads in 1 2 8; do
                with=()
                for ((i = 0; i < ${#call[@]}; i++)); do
                    with+=("${call[i]/#pipe:0/$work/film.yuv}")
                    if [[ ${call[i]} == -threads ]]; then with+=("$threads") && ((i += 1)); fi
                done
                row "plinth libx264 threads $threads" "${with[@]}"
            done
        fi
    done
done
