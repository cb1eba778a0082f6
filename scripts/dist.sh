#!/usr/bin/env bash
# Makes the packages in dist/: an archive with the program, a Debian package, Python wheels, SBOMs, and the checksums of these
# files.
#
#   scripts/dist.sh                      builds with the profile `release`
#   scripts/dist.sh --program PROGRAM    packages PROGRAM, which must be built already
#   scripts/dist.sh --target TRIPLE      builds for another architecture of Linux, or packages a PROGRAM for it. Makes no wheel with
#                                        the driver, because the driver is copied from this machine
#
# The version is the one in Cargo.toml. Needs the programs that `scripts/setup.sh dist` installs, for aarch64 also those of
# `scripts/setup.sh arm64`. Uses the cargo-deb on PATH, or builds it below the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "dist: $*"; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
host=$(rustc -vV | sed -n 's/^host: //p')
triple=$host program=
while (($# > 0)); do
    case $1 in
        --program) program=$2 ;;
        --target) triple=$2 ;;
        *) say "unknown argument $1; see the beginning of this script" >&2; exit 2 ;;
    esac
    shift 2
done
# crates/plinth/Cargo.toml lists files in this folder for cargo-deb.
parts=target/dist
version=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "plinth"))')
name=plinth-$version-$triple
# The names of tools for another architecture begin with the name of this architecture. An emulator runs the programs that they
# make.
prefix='' emulator=() deb_target=()
if [[ $triple != "$host" ]]; then
    arch=${triple%%-*}
    prefix=$arch-linux-gnu-
    emulator=("qemu-$arch-static" -L "/usr/$arch-linux-gnu")
    deb_target=(--target "$triple" --variant crossed)
    linker=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$triple")_LINKER
    export "$linker=${!linker:-${prefix}gcc}"
fi
for needed in dpkg-shlibdeps patchelf "${prefix}objdump" "${prefix}strip" "${emulator[@]:0:1}"; do
    command -v "$needed" >/dev/null || { say "$needed is missing (scripts/setup.sh dist${prefix:+ arm64})" >&2; exit 1; }
done

tool() { # NAME VERSION: the path of a cargo tool, built where it is missing
    local path
    if ! path=$(command -v "$1"); then
        path=$target/tools/bin/$1
        if ! [[ -x $path ]]; then
            say "building $1 $2" >&2
            ${CARGO:-cargo} install --quiet --debug --locked --version "$2" --root "$target/tools" "$1" >&2
        fi
    fi
    echo "$path"
}
cargo_deb=$(tool cargo-deb "~3")

if [[ -z $program ]]; then
    program=$target/${prefix:+$triple/}release/plinth
    ${CARGO:-cargo} build --locked --release -p plinth ${prefix:+--target "$triple"}
fi
# The package for another architecture names the oldest C library in a fixed text, because dpkg-shlibdeps cannot compute it.
glibc=$(scripts/glibc.sh "${prefix}objdump" "$program")
oldest=$(sed -n 's/^depends = "libc6 (>= \([0-9.]*\)).*/\1/p' crates/plinth/Cargo.toml)
if [[ $(printf '%s\n' "$oldest" "$glibc" | sort -V | tail -n 1) != "$oldest" ]]; then
    say "the program needs glibc $glibc, but packages are meant for $oldest: make them on Ubuntu 22.04 or Debian 12" >&2
    if [[ -n $prefix ]]; then exit 1; fi
fi
rm -rf dist "$parts"
mkdir -p dist "$parts/licences"
"${prefix}strip" -o "$parts/plinth" "$program"
"${emulator[@]}" "$parts/plinth" package-files "$parts"
cp LICENSE-MIT LICENSE-APACHE "$parts/licences/"
cp crates/plinth-studio/assets/vendor/hls.LICENSE "$parts/licences/hls.js-LICENSE"
scripts/linked.py licences "$triple" >"$parts/licences/THIRD-PARTY.txt"

mkdir "$parts/$name"
cp -r "$parts"/{plinth,man,completions,licences} README.md CHANGELOG.md "$parts/$name/"
# These options make the archive reproducible.
tar -C "$parts" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
    -cf - "$name" | gzip -9n >"dist/$name.tar.gz"

"$cargo_deb" deb --no-build --no-strip -p plinth "${deb_target[@]}" --output dist/ 2> >(grep -v '^warning' >&2) >/dev/null
scripts/wheels.sh "$parts/plinth" "$parts/licences" "$version" dist "$triple"
scripts/linked.py sbom "$triple" >"dist/$name.cyclonedx.json"

scripts/checksums.sh dist
say "made from $program, which needs glibc $glibc:"
ls -lh dist | awk 'NR > 1 { print "    " $5 "  " $9 }'
