#!/usr/bin/env bash
# Runs a command in separate namespaces for network, mounts and processes. The tests then create a network namespace for each host
# that they simulate. When the command ends, all processes and mounts in the namespaces end, too. Needs root.
#
#   scripts/network.sh COMMAND [ARGUMENT ...]
set -euo pipefail

if ((EUID != 0)); then
    echo "network: hosts made of network namespaces need root" >&2
    exit 1
fi
# The shell stays the first process of the namespace, because the first process must wait for processes whose parents have ended.
exec unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && ip link set lo up || exit
    "$@"
    exit $?' network "$@"
