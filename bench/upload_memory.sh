#!/usr/bin/env bash
# Starts a server, uploads a model of almost 1 GB and prints how much memory and processor time the server took for that.
# usage: bench/upload_memory.sh    the model has MEGABYTES (1000); fails if the memory of the server grows by more than LIMIT_MB (64)
set -euo pipefail
cd "$(dirname "$0")/.."

plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
megabytes=${MEGABYTES:-1000}
limit=${LIMIT_MB:-64}
folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

# A triangle in a large buffer, of which only the first bytes are used.
python=$(scripts/find.sh python)
"$python" - "$folder/big.glb" "$megabytes" <<'PY'
import json, struct, sys
path, size = sys.argv[1], int(sys.argv[2]) * 1_000_000
document = {
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"byteLength": size}],
}
text = json.dumps(document).encode()
text += b" " * (-len(text) % 4)
with open(path, "wb") as file:
    file.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + size))
    file.write(struct.pack("<I4s", len(text), b"JSON") + text)
    file.write(struct.pack("<I4s", size, b"BIN\0") + struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
    left, piece = size - 36, bytes(1 << 20)
    while left:
        left -= file.write(piece[:left])
PY

"$plinth" serve --no-worker --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
server=$!
until grep -q 'plinth openapi\|openapi.json' "$folder/out"; do
    kill -0 "$server" || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
base=$(sed -n 's/.*serves at //p' "$folder/out")
token=$(grep -o 'plinth_sk_[A-Za-z0-9]*' "$folder/out" | head -1)
field() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$server/status"; }
# Prints the processor time in seconds: of the server for field 12, of its ended children, such as checks of models, for field 14.
processors() { sed 's/.*) //' "/proc/$server/stat" | awk -v ticks="$(getconf CLK_TCK)" -v "from=$1" '{ print ($from + $(from + 1)) / ticks }'; }
upload() { curl -sS -H "Authorization: Bearer $token" -F "file=@$1" "$base/v1/models"; echo; }

# Uploads a small model first, so that the measurement does not include costs that only the first upload has.
cp fixtures/models/flight_helmet.glb "$folder/small.glb"
upload "$folder/small.glb"
before=$(field VmRSS)
echo 5 >"/proc/$server/clear_refs" # resets the peak
own=$(processors 12) checks=$(processors 14)
begin=$(date +%s%N)
upload "$folder/big.glb"
millis=$((($(date +%s%N) - begin) / 1000000))
peak=$(field VmHWM)
echo "processors: $(processors 12) s of the server in all, $own s before; $(processors 14) s of its checks, $checks s before"
grown=$(((peak - before) / 1024))
echo "upload of $megabytes MB: ${millis} ms, server at $((before / 1024)) MB before, $((peak / 1024)) MB at its peak: $grown MB more"
if ((grown >= limit)); then
    echo "upload_memory: more than $limit MB" >&2
    exit 1
fi
