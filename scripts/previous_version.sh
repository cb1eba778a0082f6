#!/usr/bin/env bash
# Tests that the program of an older commit works on the tables of this version, as during an upgrade: this version migrates
# the database, then servers and workers of both versions use it together.
#
#   scripts/previous_version.sh COMMIT      a tag or commit, whose program is built
#
# There are four sessions on SQLite, and four on PostgreSQL. In each session, a server receives an upload and a worker draws its
# render: old server and new worker, new server and old worker, both old, both new. Each session except the first repeats an order of
# the previous session with the same idempotency key, which must not create or charge a render. Then it cancels this render, which
# must be refunded. Environment:
#   PLINTH      the program of this version (default: target/debug/plinth)
#   PREVIOUS    the program of the older commit (default: it is built)
#   PREVIOUS_TARGET     the folder to build it in (default: target/previous)
set -euo pipefail
cd "$(dirname "$0")/.."

commit=${1:?give a tag or commit, see the beginning of this script}
new=$(realpath "${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}")
work=$(mktemp -d /tmp/plinth-previous-XXXXXX)
pids=()
cleanup() {
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait
    git worktree remove --force "$work/source" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

old=${PREVIOUS:-}
if [[ -z $old ]]; then
    git worktree add --quiet --detach "$work/source" "$commit"
    target=$(realpath -m "${PREVIOUS_TARGET:-${CARGO_TARGET_DIR:-target}/previous}")
    (cd "$work/source" && CARGO_TARGET_DIR=$target cargo build --quiet --workspace --bins)
    old=$target/debug/plinth
fi
PLINTH_FFMPEG=$(scripts/find.sh ffmpeg)
export PLINTH_FFMPEG PLINTH_ADAPTER=cpu

# Starts a program in the background; its output goes to NAME.log.
begin() { # NAME COMMAND ...
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    pids+=($!)
}

# Stops all programs that `begin` has started.
end_all() {
    for pid in "${pids[@]}"; do kill -TERM "$pid" && wait "$pid" || true; done
    pids=()
}

fail() {
    echo "previous_version: $*" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}

api() { # PATH [ARGUMENT OF CURL ...]
    local path=$1
    shift
    curl -sS -f -H "Authorization: Bearer $(<"$PLINTH_DATA_DIR/key")" "$@" "$url$path"
}

# Prints the value of the member NAME of a JSON response on stdin.
member() { # NAME
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"
}

balance() { api /account | member paid; }

# Orders a render with the idempotency key KEY, and prints its id. No worker of this test takes renders of its quality.
order() { # MODEL KEY
    api /renders -H "Idempotency-Key: $2" -H 'Content-Type: application/json' \
        -d "{\"modelId\":\"$1\",\"renderSettings\":{\"quality\":\"standard\",\"length\":1}}" | member id
}

# Repeats the order of the previous session, checks that nothing is charged, cancels it and checks the refund. FILE contains the
# render, the model and the balance before the charge.
settle() { # LABEL FILE
    local label=$1 id model paid repeated before
    read -r id model paid <"$2"
    before=$(balance)
    repeated=$(order "$model" waiting) || fail "$label: an order cannot be repeated"
    [[ $repeated == "$id" ]] || fail "$label: the key of order $id created ${repeated:-nothing}"
    [[ $(balance) == "$before" ]] || fail "$label: a repeated order was charged"
    api "/renders/$id/cancel" -X POST >/dev/null || fail "$label: order $id cannot be cancelled"
    [[ $(balance) == "$paid" ]] || fail "$label: $(balance) credits after order $id was cancelled, $paid before it was charged"
    rm "$2"
}

# Uploads a model to SERVER and waits until WORKER has drawn and packaged its render.
session() { # LABEL SERVER WORKER
    local label=$1 server=$2 worker=$3 port=$((20000 + RANDOM % 20000)) id model paid status=
    local url=http://127.0.0.1:$port/v1 waiting=$PLINTH_DATA_DIR/waiting
    begin "$label-serve" "$server" serve --no-worker --listen "127.0.0.1:$port"
    begin "$label-worker" "$worker" worker --takes share
    for ((n = 0; n < 300; n++)); do
        curl -sf "$url/health" >/dev/null && break
        sleep 0.2
    done
    if [[ ! -e $PLINTH_DATA_DIR/key ]]; then
        "$new" admin account create upgrade@example.org >/dev/null
        "$new" admin credits grant upgrade@example.org 1000 >/dev/null
        "$new" admin key create --account upgrade@example.org | grep -o 'plinth_sk_[A-Za-z0-9]*' >"$PLINTH_DATA_DIR/key"
    fi
    if [[ -e $waiting ]]; then settle "$label" "$waiting"; fi
    status=$(api /models -F file=@fixtures/models/flight_helmet.glb -F 'renderSettings={"quality":"share","length":0.2}') ||
        fail "$label: the upload failed"
    id=$(member renderId <<<"$status") model=$(member modelId <<<"$status")
    for ((n = 0; n < 600; n++)); do
        status=$(api "/renders/$id")
        [[ $status != *'"status":"error"'* ]] || fail "$label: $status"
        [[ $status == *'"hlsStatus":"ready"'* ]] && break
        sleep 0.5
    done
    [[ $status == *'"hlsStatus":"ready"'* ]] || fail "$label: the render did not end: $status"
    api "/renders/$id/video" -o "$work/video.mp4" -L || fail "$label: no video"
    paid=$(balance)
    id=$(order "$model" waiting) && [[ -n $id ]] || fail "$label: the order failed"
    (($(balance) < paid)) || fail "$label: order $id was not charged"
    echo "$id $model $paid" >"$waiting"
    end_all
    echo "$label: drawn, packaged and downloaded, $(stat -c %s "$work/video.mp4") bytes"
}

# Runs all sessions on one database.
on() { # NAME URL
    export PLINTH_DATA_DIR=$work/$1 PLINTH_DATABASE_URL=$2 PLINTH_STORE_URL=file://$work/$1/objects
    mkdir -p "$PLINTH_DATA_DIR"
    "$new" migrate
    session "$1-old-server-new-worker" "$old" "$new"
    session "$1-new-server-old-worker" "$new" "$old"
    session "$1-both-old" "$old" "$old"
    session "$1-both-new" "$new" "$new"
}

on sqlite "sqlite://$work/sqlite/plinth.db"

postgres=$(scripts/find.sh postgres)
as=()
if ((EUID == 0)); then as=(setpriv --reuid postgres --regid postgres --clear-groups); fi
mkdir "$work/cluster"
if ((EUID == 0)); then
    chmod 755 "$work"
    chown postgres: "$work/cluster"
fi
"${as[@]}" "$postgres/initdb" -D "$work/cluster/data" -A trust -U plinth >/dev/null
"${as[@]}" "$postgres/postgres" -D "$work/cluster/data" -k "$work/cluster" -c listen_addresses= >"$work/postgres.log" 2>&1 &
server=$!
trap 'kill -INT $server; cleanup' EXIT
until "$postgres/pg_isready" -q -h "$work/cluster"; do sleep 0.2; done
on postgres "postgres://plinth@localhost/postgres?host=$work/cluster"
echo "previous_version: the program of $commit works on the tables of this version"
