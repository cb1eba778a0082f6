#!/usr/bin/env bash
# Starts a server and sends it many malicious uploads at the same time: small files that decode to many pixels, large
# environments, large JSON bodies, models and archives. Prints the peak memory of the server and of its checks, the slowest
# GET /v1/health, and whether valid uploads of images and models succeeded.
# Fails if the server takes more than LIMIT_MB (1500), if a health check takes more than 1 s, or if a valid upload fails.
# usage: bench/hostile_memory.sh    sends AT_ONCE (12) uploads of each of five kinds for SECONDS_LONG (300); CHECK_MB (4096) is the
# memory limit of a check
set -euo pipefail
cd "$(dirname "$0")/.."

plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
at_once=${AT_ONCE:-12}
seconds=${SECONDS_LONG:-300}
limit=${LIMIT_MB:-1500}
check=${CHECK_MB:-4096}
kinds=${KINDS:-image env json glb zip}
folder=$(mktemp -d)
server= jobs_started=
trap 'kill $jobs_started 2>/dev/null || true; [[ -z $server ]] || kill "$server" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT

python=$(scripts/find.sh python)
"$python" - "$folder" <<'PY'
import json, struct, sys, zipfile, zlib
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
for number in range(64):  # 64 files with different contents
    with open(f"{folder}/large-{number}.png", "wb") as file:
        file.write(large + bytes([number]))
png(folder + "/small.png", 64, 64)
webp = b"RIFF\0\0\0\0WEBP"
with open(folder + "/part.webp", "wb") as file:
    file.write(webp + bytes((48 << 20) - len(webp)))
# 48 MB of small JSON values. Each value would take hundreds of bytes if it were parsed.
with open(folder + "/part.json", "wb") as file:
    file.write(b'{"":[' + b'{"":0},' * (((48 << 20) - 16) // 7) + b"0]}")
for name, size in (("batch", 16 << 20), ("order", 1 << 20)):
    item = b'{"renderSettings":{"x":['
    with open(f"{folder}/{name}.json", "wb") as file:
        body = b'{"renders":[' + item
        file.write(body + b'{"":0},' * ((size - len(body) - 16) // 7) + b"0]}}]}")

def glb(path, document, binary=b""):
    text = json.dumps(document).encode() if isinstance(document, dict) else document
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        body += struct.pack("<II", len(binary), 0x004E4942) + binary
    with open(path, "wb") as file:
        file.write(struct.pack("<III", 0x46546C67, 2, 12 + len(body)) + body)

def triangle(name, image=b""):
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "name": name}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
        "materials": [{}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36 + len(image)}],
    }
    if image:
        document["bufferViews"].append({"buffer": 0, "byteOffset": 36, "byteLength": len(image)})
        document["images"] = [{"bufferView": 1, "mimeType": "image/png"} for _ in range(16)]
        document["textures"] = [{"source": n} for n in range(16)]
        document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    return document, points + image

for number in range(1000):
    document, binary = triangle(f"honest {number}")
    glb(f"{folder}/honest-{number}.glb", document, binary)
# Models with sixteen images that decode to 400 MB each, and models with 64 MB of JSON that contains millions of nodes.
for number in range(16):
    document, binary = triangle(f"images {number}", large)
    glb(f"{folder}/hostile-{number}.glb", document, binary)
for number in range(16, 20):
    nodes = b'{"n":0},' * ((64 << 20) // 8)
    glb(f"{folder}/hostile-{number}.glb", b'{"asset":{"version":"2.0","generator":"%d"},"nodes":[' % number + nodes + b"{}]}")
# An archive that unpacks to nearly the 500 MB that are allowed.
with zipfile.ZipFile(folder + "/hostile.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    with archive.open("a.obj", "w", force_zip64=True) as file:
        for _ in range(49):
            file.write(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -3\n" * 290_000)
PY

: >"$folder/out"
"$plinth" serve --no-worker --rate-limit-per-minute 1000000 --free-uploads-per-day 1000000 \
    --model-check-memory-mb "$check" --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
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
    glb) post -F "file=@$folder/hostile-$((RANDOM % 20)).glb" "$base/v1/models" ;;
    zip) post -F "file=@$folder/hostile.zip" "$base/v1/models" ;;
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
# Valid uploads run in the background, so that they and the health checks do not delay each other.
slowest=0 slowest_upload=0 uploads=0 failed=0 children=0
honest_uploads() {
    local number=0 file address took code
    while ((SECONDS < end)); do
        file=$folder/small.png address=$base/v1/assets/textures
        ((number % 2 == 0)) || { file=$folder/honest-$number.glb address=$base/v1/models; }
        read -r code took < <(curl -sS -m 180 -o "$folder/answer" -w '%{http_code} %{time_total}\n' \
            -H "Authorization: Bearer $honest" -F "file=@$file" -F "name=$number" "$address" || echo none 180)
        echo "$code $took $file" >>"$folder/honest"
        [[ $code = 20[01] ]] || echo "a valid upload got the status $code: $(cat "$folder/answer")" >&2
        number=$((number + 1))
        sleep 0.2
    done
}
honest_uploads &
honest_job=$!
jobs_started+=" $honest_job"
while ((SECONDS < end)); do
    took=$(curl -sS -m 30 -o /dev/null -w '%{time_total}' "$base/v1/health" || echo 30)
    slowest=$(awk -v a="$slowest" -v b="$took" 'BEGIN { print (a + 0 > b + 0) ? a : b }')
    now=$( (ps --ppid "$server" -o rss= || true) | awk '{ sum += $1 } END { print int(sum / 1024) }')
    children=$((now > children ? now : children))
    sleep 0.2
done
wait "$honest_job"
uploads=$(wc -l <"$folder/honest")
failed=$(awk '$1 !~ /^20[01]$/' "$folder/honest" | wc -l)
slowest_upload=$(awk '$2 > most { most = $2 } END { print most + 0 }' "$folder/honest")
peak=$(field VmHWM)
for kind in $kinds; do echo "$kind: $(sort "$folder/$kind.codes" | uniq -c | awk '{ printf "%s times %s  ", $1, $2 }')"; done
echo "server at $before MB before, $peak MB at its peak; its checks took $children MB together"
echo "slowest health check $slowest s; $uploads valid uploads, $failed failed, the slowest took $slowest_upload s"
if ((peak >= limit || failed > 0)) || awk -v s="$slowest" 'BEGIN { exit !(s > 1) }'; then
    echo "hostile_memory: over a limit ($limit MB, 1 s, no failure)" >&2
    exit 1
fi
