#!/usr/bin/env bash
# Makes the packages in dist/: an archive with the program, a Debian package, Python wheels, SBOMs, and their checksums.
#
#   scripts/dist.sh                      builds with the profile `release`
#   scripts/dist.sh --program PROGRAM    packages a program that is built
#
# The version is that of Cargo.toml. Needs what `scripts/setup.sh dist` installs; cargo-deb is taken from PATH, or built below
# the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
program=$target/release/plinth
if [[ ${1:-} == --program ]]; then program=$2; fi
# crates/plinth/Cargo.toml names the files here for cargo-deb.
parts=target/dist
version=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "plinth"))')
triple=$(rustc -vV | sed -n 's/^host: //p')
name=plinth-$version-$triple
say() { echo "dist: $*"; }
for needed in dpkg-shlibdeps:dpkg-dev patchelf:patchelf objdump:binutils python3:python3; do
    command -v "${needed%:*}" >/dev/null || { say "${needed%:*} is missing (apt-get install ${needed#*:})" >&2; exit 1; }
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

if [[ ${1:-} != --program ]]; then ${CARGO:-cargo} build --locked --release -p plinth; fi
rm -rf dist "$parts"
mkdir -p dist "$parts/licences"
strip -o "$parts/plinth" "$program"
"$parts/plinth" package-files "$parts"
cp LICENSE-MIT LICENSE-APACHE "$parts/licences/"
cp crates/plinth-studio/assets/vendor/hls.LICENSE "$parts/licences/hls.js-LICENSE"
scripts/linked.py licences "$triple" >"$parts/licences/THIRD-PARTY.txt"

mkdir "$parts/$name"
cp -r "$parts"/{plinth,man,completions,licences} README.md CHANGELOG.md "$parts/$name/"
# The same input makes the same archive.
tar -C "$parts" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
    -cf - "$name" | gzip -9n >"dist/$name.tar.gz"

"$cargo_deb" deb --no-build --no-strip -p plinth --output dist/ 2> >(grep -v '^warning' >&2) >/dev/null
scripts/wheels.sh "$parts/plinth" "$parts/licences" "$version" dist
scripts/linked.py sbom "$triple" >"dist/plinth-$version.cyclonedx.json"

scripts/checksums.sh dist
say "made from $program:"
ls -lh dist | awk 'NR > 1 { print "    " $5 "  " $9 }'
