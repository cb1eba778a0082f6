#!/usr/bin/env bash
# Checks that the whole program compiles for macOS and Windows, without building it: type errors and warnings of Rust code are
# found, C code is not compiled and nothing is linked, so that no compilers or libraries of these systems are needed.
#
#   scripts/platforms.sh [TARGET ...]
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# == 0)); then set -- aarch64-apple-darwin x86_64-pc-windows-gnu; fi
installed=$(rustup target list --installed)
for target in "$@"; do
    if ! grep -qx "$target" <<<"$installed"; then rustup target add "$target"; fi
    # Build scripts compile C code with these programs; `true` does nothing.
    name=${target//-/_}
    for program in CC CXX AR RANLIB; do export "${program}_$name=true"; done
    echo "platforms: $target"
    cargo clippy --workspace --target "$target" -- -D warnings
done
