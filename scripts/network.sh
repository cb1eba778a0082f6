#!/usr/bin/env bash
# Runs a command in namespaces of its own (network, mounts, processes), in which tests make hosts out of network namespaces.
# Everything in them ends and is removed with the command. Needs root.
#
#   scripts/network.sh COMMAND [ARGUMENT ...]
set -euo pipefail

if ((EUID != 0)); then
    echo "network: hosts made of network namespaces need root" >&2
    exit 1
fi
# The shell stays the first process, because that has to wait for processes whose parents have ended.
exec unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && ip link set lo up || exit
    "$@"
    exit $?' network "$@"
