#!/usr/bin/env bash
# Runs a command with PLINTH_DATABASE_URL, which names a temporary PostgreSQL server that this script starts and removes.
#
#   scripts/postgres.sh COMMAND ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

programs=$("$here/find.sh" postgres)
folder=$(mktemp -d /tmp/plinth-postgres-XXXXXX)
server=
cleanup() {
    if [[ -n $server ]]; then
        kill -INT "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -rf "$folder"
}
trap cleanup EXIT

# PostgreSQL does not run as root.
as=()
if ((EUID == 0)); then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown postgres: "$folder"
fi
"${as[@]}" "$programs/initdb" -D "$folder/data" -A trust -U plinth >/dev/null
"${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= >"$folder/log" 2>&1 &
server=$!
until "$programs/pg_isready" -q -h "$folder"; do
    kill -0 "$server" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.2
done
PLINTH_DATABASE_URL="postgres://plinth@localhost/postgres?host=$folder" "$@"
