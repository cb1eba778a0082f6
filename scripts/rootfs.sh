#!/usr/bin/env bash
# Makes a Debian root file system with mmdebstrap, as root.
#
#   scripts/rootfs.sh SUITE TARGET [PACKAGE ...]    SUITE: trixie (Debian 13), bookworm (Debian 12); TARGET: a new folder or .tar
#
# The archive is the one that this machine uses, or DEBIAN_MIRROR. VARIANT says what it begins with (mmdebstrap --variant,
# default: minbase); apt-get inside reaches the archive as it does here.
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
# Nobody needs what a power cut would lose, so dpkg does not wait for the disk.
printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" "${mirror%/debian*}/debian-security" "$suite-security" |
    mmdebstrap --quiet "${options[@]}" --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-include=/usr/share/doc/plinth/*' \
        --dpkgopt=force-unsafe-io "$suite" "$target" -
