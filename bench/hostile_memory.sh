#!/usr/bin/env bash
# Starts a server and sends it, many at the same time, small files that decode to many pixels, large environments and large
# JSON bodies. Prints the server's peak memory, the slowest GET /v1/health, and whether valid uploads succeeded.
# usage: bench/hostile_memory.sh    AT_ONCE=12 SECONDS_LONG=20 LIMIT_MB=1500; fails above the limit, when a health check
# takes more than 1 s, or when a valid upload fails
set -euo pipefail
cd "$(dirname "$0")/.."

plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
at_once=${AT_ONCE:-12}
seconds=${SECONDS_LONG:-20}
limit=${LIMIT_MB:-1500}
kinds=${KINDS:-image env json}
folder=$(mktemp -d)
server= jobs_started=
trap 'kill $jobs_started 2>/dev/null || true; [[ -z $server ]] || kill "$server" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT

python=$(scripts/find.sh python)
"$python" - "$folder" <<'PY'
import json, struct, sys, zlib
folder = sys.argv[1]

def png(path, width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    packer, row = zlib.compressobj(9), bytes(1 + 3 * width)
    pixels = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))

png(folder + "/large.png", 16384, 8192)
large = open(folder + "/large.png", "rb").read()
for number in range(64):  # each is a different file
    with open(f"{folder}/large-{number}.png", "wb") as file:
        file.write(large + bytes([number]))
png(folder + "/small.png", 64, 64)
webp = b"RIFF\0\0\0\0WEBP"
with open(folder + "/part.webp", "wb") as file:
    file.write(webp + bytes((48 << 20) - len(webp)))
# 48 MB of small values, each of which would take hundreds of bytes as a parsed JSON value.
with open(folder + "/part.json", "wb") as file:
    file.write(b'{"":[' + b'{"":0},' * (((48 << 20) - 16) // 7) + b"0]}")
for name, size in (("batch", 16 << 20), ("order", 1 << 20)):
    item = b'{"renderSettings":{"x":['
    with open(f"{folder}/{name}.json", "wb") as file:
        body = b'{"renders":[' + item
        file.write(body + b'{"":0},' * ((size - len(body) - 16) // 7) + b"0]}}]}")
PY

: >"$folder/out"
"$plinth" serve --no-worker --rate-limit-per-minute 1000000 --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
server=$!
until grep -q 'openapi.json' "$folder/out"; do
    kill -0 "$server" || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
base=$(sed -n 's/.*serves at //p' "$folder/out")
greedy=$(grep -o 'plinth_sk_[A-Za-z0-9]*' "$folder/out" | head -1)
admin() { "$plinth" admin "$@" --data "$folder/data" --json; }
admin account create honest@example.org >"$folder/account"
honest=$(admin key create --account honest@example.org | grep -o 'plinth_sk_[A-Za-z0-9]*')
field() { awk -v name="$1:" '$1 == name { print int($2 / 1024) }' "/proc/$server/status"; }
post() { curl -sS -m 120 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $greedy" "$@" 2>&1 || true; }
attack() {
    case $1 in
    image) post -F "file=@$folder/large-$((RANDOM % 64)).png" "$base/v1/assets/textures" ;;
    env) post -F "sdr=@$folder/part.webp" -F "gainmap=@$folder/part.webp" -F "metadata=@$folder/part.json" "$base/v1/assets/envs" ;;
    json) post -H 'Content-Type: application/json' --data-binary "@$folder/$([[ $((RANDOM % 2)) = 0 ]] && echo batch || echo order).json" "$base/v1/renders/batch" ;;
    esac
}

before=$(field VmRSS)
end=$((SECONDS + seconds))
for ((n = 0; n < at_once; n++)); do
    for kind in $kinds; do
        (while ((SECONDS < end)); do attack "$kind"; done >>"$folder/$kind.codes") &
        jobs_started+=" $!"
    done
done
slowest=0 uploads=0 failed=0
while ((SECONDS < end)); do
    took=$(curl -sS -m 30 -o /dev/null -w '%{time_total}' "$base/v1/health" || echo 30)
    slowest=$(awk -v a="$slowest" -v b="$took" 'BEGIN { print (a + 0 > b + 0) ? a : b }')
    code=$(curl -sS -m 60 -o "$folder/answer" -w '%{http_code}' -H "Authorization: Bearer $honest" \
        -F "file=@$folder/small.png" -F "name=$uploads" "$base/v1/assets/textures" || echo none)
    uploads=$((uploads + 1))
    [[ $code = 20[01] ]] || { failed=$((failed + 1)); echo "a valid upload got the status $code: $(cat "$folder/answer")" >&2; }
    sleep 0.2
done
peak=$(field VmHWM)
for kind in $kinds; do echo "$kind: $(sort "$folder/$kind.codes" | uniq -c | awk '{ printf "%s times %s  ", $1, $2 }')"; done
echo "server at $before MB before, $peak MB at its peak; slowest health check $slowest s; $uploads valid uploads, $failed failed"
if ((peak >= limit || failed > 0)) || awk -v s="$slowest" 'BEGIN { exit !(s > 1) }'; then
    echo "hostile_memory: over a limit ($limit MB, 1 s, no failure)" >&2
    exit 1
fi
