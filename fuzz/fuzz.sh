#!/usr/bin/env bash
# Runs fuzz targets, each for SECONDS_EACH seconds (default: 60). The variable TARGETS names the targets (default: all).
# Inputs that cause a failure are stored in artifacts/, inputs that reach new code in corpus/.
set -euo pipefail
cd "$(dirname "$0")"

if cargo +nightly --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
else
    # With this variable, a stable compiler accepts the unstable option of the sanitizer.
    export RUSTC_BOOTSTRAP=1
    cargo=(cargo)
fi
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
for target in ${TARGETS:-$("${cargo[@]}" fuzz list)}; do
    seeds=seeds/$target
    case $target in load_glb | inspect) seeds=seeds/glb ;; esac
    dictionary=dictionaries/$(basename "$seeds").dict
    # The other part of its input, a GLB, rarely needs keywords: mutations keep the syntax of its JSON.
    [ "$target" != scene ] || dictionary=dictionaries/settings.dict
    # Requests leave entries in caches of the service, which would be searched for leaks after each request.
    leaks=1
    case $target in *_request) leaks=0 ;; esac
    mkdir -p "corpus/$target"
    echo "== $target"
    # A single thread, because decoding a small image on all cores takes longer than on one.
    RAYON_NUM_THREADS=1 "${cargo[@]}" fuzz run "$target" "corpus/$target" "$seeds" -- \
        -max_total_time="${SECONDS_EACH:-60}" -rss_limit_mb=2048 -timeout=10 -max_len=100000 -detect_leaks="$leaks" \
        ${dictionary:+$([ -f "$dictionary" ] && echo "-dict=$dictionary")} -print_final_stats=1
done
