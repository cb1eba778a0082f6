#!/usr/bin/env bash
# Makes a Debian root file system with mmdebstrap, as root.
#
#   scripts/rootfs.sh SUITE TARGET [PACKAGE ...]    SUITE: trixie (Debian 13), bookworm (Debian 12); TARGET: a new folder or .tar
#
# Packages come from DEBIAN_MIRROR, or from the archive that this machine uses. VARIANT is the set of packages that are always
# installed (mmdebstrap --variant, default: minbase). apt-get in the new system gets this machine's settings for reaching the
# archive.
set -euo pipefail

suite=$1
target=$2
shift 2
say() { echo "rootfs: $*" >&2; }
((EUID == 0)) || { say "only root can make root file systems"; exit 1; }
command -v mmdebstrap >/dev/null || { say "mmdebstrap is missing: apt-get install mmdebstrap"; exit 1; }

# shellcheck disable=SC2016  # apt-get's variable
own=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed -n '\%/debian/*$%{s%/*$%%p;q}')
mirror=${DEBIAN_MIRROR:-${own:-http://deb.debian.org/debian}}
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
{
    apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|CaInfo)|^Acquire::(Check-|Retries|ForceIPv)' || true
    echo 'APT::Install-Recommends "false";'
} >"$settings"
options=(--variant="${VARIANT:-minbase}" --mode=root --aptopt="$settings")
if (($# > 0)); then options+=("--include=$(IFS=,; echo "$*")"); fi
# dpkg does not wait for the disk, because an incomplete file system after a power failure is made again anyway.
printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" "${mirror%/debian*}/debian-security" "$suite-security" |
    mmdebstrap --quiet "${options[@]}" --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-include=/usr/share/doc/plinth/*' \
        --dpkgopt=force-unsafe-io "$suite" "$target" -
