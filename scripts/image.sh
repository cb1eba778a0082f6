#!/usr/bin/env bash
# Makes the container image without a registry: with buildah, from a root file system of Debian's archive and the Debian package in
# dist/.
# Also writes an SBOM that lists the packages in the image, and adds both files to SHA256SUMS.
#
#   scripts/image.sh [--output FILE]    writes FILE.gz, a Docker archive for `podman load` and `skopeo copy`;
#                                       default: FILE is dist/plinth-VERSION-image.tar
#
# Needs root, mmdebstrap, buildah, and dist/*.deb (scripts/dist.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "image: $*"; }
shopt -s nullglob
packages=(dist/plinth_*.deb)
((${#packages[@]} == 1)) || { say "dist/ must hold one Debian package; run make dist" >&2; exit 1; }
for program in mmdebstrap buildah; do
    command -v "$program" >/dev/null || { say "$program is missing (apt-get install $program)" >&2; exit 1; }
done
version=$(dpkg-deb -f "${packages[0]}" Version)
version=${version%-*}
output=dist/plinth-$version-image.tar
if [[ ${1:-} == --output ]]; then output=$2; fi

work=$(mktemp -d /var/tmp/plinth-image-XXXXXX)
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
store=(--root "$work/store" --runroot "$work/run")
trap 'rm -rf --one-file-system "$work"' EXIT

say "making a root file system of Debian 13"
mkdir "$work/context"
scripts/rootfs.sh trixie "$work/context/root.tar" ca-certificates tini adduser ffmpeg libvulkan1 mesa-vulkan-drivers
# Replaces the first lines of the Containerfile: the base is the root file system, and packages are installed without an archive.
cp -r deploy/image "${packages[0]}" "$work/context/"
{
    cat <<'BASE'
FROM scratch
ADD root.tar /
COPY image/healthcheck.sh /usr/local/bin/plinth-healthcheck
COPY image/prepare.sh *.deb /tmp/
RUN dpkg -i /tmp/*.deb && sh /tmp/prepare.sh && rm -rf /var/lib/apt/lists/* /tmp/*
BASE
    sed -n '/^ENV /,$p' Containerfile
} >"$work/context/Containerfile"
created=$(git log -1 --format=%ct)
buildah "${store[@]}" build --quiet --squash --format docker --timestamp "${SOURCE_DATE_EPOCH:-$created}" \
    --label org.opencontainers.image.version="$version" --label org.opencontainers.image.licenses="MIT OR Apache-2.0" \
    --tag "plinth:$version" "$work/context" >/dev/null
mkdir -p "$(dirname "$output")"
rm -f "$output"
buildah "${store[@]}" push --quiet "plinth:$version" "docker-archive:$output:plinth:$version"
gzip -6 --stdout "$output" >"$output.gz"
rm "$output"
# The list of installed packages: those of the root file system, and Plinth's own package.
{
    tar -xOf "$work/context/root.tar" ./var/lib/dpkg/status
    # The fields of the package may end with an empty line, so its status comes first.
    printf '\nStatus: install ok installed\n'
    dpkg-deb -f "${packages[0]}"
} >"$work/status"
tar -xOf "$work/context/root.tar" ./usr/lib/os-release >"$work/os-release"
scripts/debian_sbom.py plinth-image "$version" "$work/status" "$work/os-release" >"${output%.tar}.cyclonedx.json"
if [[ $(realpath "$(dirname "$output")") == "$PWD/dist" ]]; then scripts/checksums.sh dist; fi
megabytes=$(($(stat -c %s "$output.gz") / 1000000))
say "$output.gz: $megabytes MB compressed"
((megabytes <= 350)) || { say "that is more than 350 MB" >&2; exit 1; }
