#!/usr/bin/env bash
# Sends a running server valid and invalid requests generated from its OpenAPI document, and checks the responses for server
# errors and for statuses, headers, types and bodies that the document does not describe. Needs schemathesis (pip install schemathesis).
# usage: scripts/schemathesis.sh [SECONDS [more arguments of `st run`]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift $(($# ? 1 : 0))
plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
command -v st >/dev/null || { echo "schemathesis: st is not on PATH; pip install schemathesis" >&2; exit 1; }
PLINTH_FFMPEG=$(scripts/find.sh ffmpeg libx264)
export PLINTH_FFMPEG
place=$(mktemp -d)
export PLINTH_DATA_DIR=$place/data PLINTH_RATE_LIMIT_PER_MINUTE=10000000 PLINTH_INGEST_LIMIT_PER_10_MINUTES=10000000
export PLINTH_FREE_UPLOADS_PER_DAY=10000000

"$plinth" admin account create fuzz@example.org --json >/dev/null
"$plinth" admin credits grant fuzz@example.org 100000000 --json >/dev/null
token=$("$plinth" admin key create --account fuzz@example.org --json | sed 's/.*"token": *"\([^"]*\)".*/\1/')
"$plinth" serve --no-worker --listen 127.0.0.1:0 >"$place/said" 2>"$place/log" &
server=$!
trap 'kill $server; wait $server || true; rm -r "$place"' EXIT
until base=$(sed -n 's/.*serves at //p' "$place/said") && [[ -n $base ]]; do
    kill -0 $server || { cat "$place/log" >&2; exit 1; }
    sleep 0.1
done
curl -sS -f -o /dev/null -H "Authorization: Bearer $token" -F file=@fixtures/models/flight_helmet.glb \
    -F 'renderSettings={"quality":"share","length":1}' "$base/v1/models"

checks=not_a_server_error,status_code_conformance,content_type_conformance
checks+=,response_headers_conformance,response_schema_conformance
failed=0
(cd "$place" && exec st run "$base/v1/openapi.json" -H "Authorization: Bearer $token" --max-time "$seconds" --continue-on-failure \
    --checks "$checks" "$@") || failed=$?
if ! curl -sS -f -o /dev/null "$base/v1/health" || grep -n ' ERROR \|panicked' "$place/log"; then
    echo "schemathesis: the server has errors in its log, or no longer responds" >&2
    exit 1
fi
exit $failed
