#!/usr/bin/env bash
# Starts a server and sends it many malicious uploads at the same time. Prints the peak memory of the server and of its checks, the
# slowest GET /v1/health, and whether valid uploads of images and models succeeded.
# Fails if the server takes more than LIMIT_MB (1500), if a health check takes more than 1 s, if a valid upload fails, or if one of
# the malicious files is rejected before it is read to its end.
# usage: bench/hostile_memory.sh    sends AT_ONCE (12) uploads of each of five kinds (KINDS) for SECONDS_LONG (300); CHECK_MB (4096)
# is the memory limit of a check. The uploads of each kind belong to ACCOUNTS (1) accounts, at most AT_ONCE: an account may send few
# uploads at the same time, and gets the status 429 for the others.
#
# Each file is at limits of the server, which hostile_files.py reads from the sources, and is valid, so that it is decoded completely:
#   image  PNG of half a megabyte that decodes to 512 MB
#   env    four files of 48 MB: three WebP of noise with 17 million pixels, of which the server reads only the first bytes, and JSON of
#          seven million objects; in the web UI, panoramas of 8192 x 4096 texels: Radiance HDR of 2 MB, and OpenEXR of 201 MB
#   json   batch of 8 MB with 600 000 values; quote of 8 MB for 100 renders with 512 mesh names each; render of 2 MB with 65 536
#          values
#   glb    four images with 600 million pixels together; JSON of 75 MB with 200 000 nodes, a million objects and 20 million values;
#          a kilobyte with accessors without data of 38 million points, which take 1 GB
#   zip    1 MB with an OBJ of 500 MB, 16 million triangles and 7 million vertices
# The file size of models, 1 GB, is not sent here but by upload_memory.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
at_once=${AT_ONCE:-12}
seconds=${SECONDS_LONG:-300}
limit=${LIMIT_MB:-1500}
check=${CHECK_MB:-4096}
kinds=${KINDS:-image env json glb zip}
accounts=${ACCOUNTS:-1}
if ((accounts < 1 || accounts > at_once)); then
    echo "hostile_memory: ACCOUNTS must be between 1 and AT_ONCE, which is $at_once" >&2
    exit 2
fi
folder=$(mktemp -d)
server= jobs_started=
trap 'kill $jobs_started 2>/dev/null || true; [[ -z $server ]] || kill "$server" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT

python=$(scripts/find.sh python)
"$python" -B bench/hostile_files.py "$folder"
images=("$folder"/image-*.png) zips=("$folder"/obj-*.zip) models=(images json accessors)

: >"$folder/out"
"$plinth" serve --no-worker --rate-limit-per-minute 1000000 --free-uploads-per-day 1000000 \
    --model-check-memory-mb "$check" --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
server=$!
until grep -q 'openapi.json' "$folder/out"; do
    kill -0 "$server" || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
base=$(sed -n 's/.*serves at //p' "$folder/out")
admin() { "$plinth" admin "$@" --data "$folder/data" --json; }
key_of() {
    admin account create "$1" >"$folder/account"
    admin key create --account "$1" | grep -o 'plinth_sk_[A-Za-z0-9]*'
}
honest=$(key_of honest@example.org)
# Keys and form tokens of the hostile accounts. Only the web UI accepts panoramas, with a session and the CSRF token of its forms.
keys=() form_tokens=()
own_page='Sec-Fetch-Site: same-origin'
for ((n = 0; n < accounts; n++)); do
    key=$(key_of "greedy$n@example.org")
    link=$(admin account sign-in "greedy$n@example.org" | grep -o '/sign-in/[A-Za-z0-9_-]*')
    curl -sS -f -o /dev/null -c "$folder/cookies-$n" -H "$own_page" -d '' "$base$link"
    curl -sS -f -o "$folder/page" -b "$folder/cookies-$n" "$base/environments"
    [[ $(<"$folder/page") =~ name=\"form_token\"\ value=\"([^\"]+) ]] || { echo "hostile_memory: no form" >&2; exit 1; }
    keys+=("$key") form_tokens+=("${BASH_REMATCH[1]}")
done
field() { awk -v name="$1:" '$1 == name { print int($2 / 1024) }' "/proc/$server/status"; }
# Sends a request, and sets `code` (000 without a response) and `answer`. What was stored is deleted: another upload of the same file
# would not be checked again, and the quota of the account would be reached. `attack` sets the number of the account.
send() { # PATH_OF_STORED|- CURL_ARGUMENT ...
    local stored=$1 key=${keys[account]}
    shift
    answer=$(curl -s -m 180 -w '\n%{http_code}' -H "Authorization: Bearer $key" "$@") || true
    code=${answer##*$'\n'}
    if [[ $stored != - && $code == 20[01] && $answer =~ \"(modelId|id)\":\ ?\"([^\"]+) ]]; then
        curl -sS -m 60 -o /dev/null -X DELETE -H "Authorization: Bearer $key" "$base/v1$stored/${BASH_REMATCH[2]}" || true
    fi
}
send_json() { send - -H 'Content-Type: application/json' --data-binary "@$folder/$1" "$base/v1$2"; }
send_parts() {
    send /assets/envs -F "sdr=@$folder/part.webp" -F "gainmap=@$folder/part.webp" -F "thumb=@$folder/part.webp" \
        -F "metadata=@$folder/part.json" "$base/v1/assets/envs"
}
send_panorama() {
    send /assets/envs -b "$folder/cookies-$account" -H "$own_page" -H 'Accept: application/json' \
        -F "form_token=${form_tokens[account]}" -F "panorama=@$folder/$1" "$base/environments"
}
# Sends request number N of a kind as an account. The kinds `env`, `json` and `glb` have three different requests in turn.
attack() { # KIND N ACCOUNT
    local n=$2 account=$3
    case $1-$((n % 3)) in
    image-*) send /assets/textures -F "file=@${images[n % ${#images[@]}]}" "$base/v1/assets/textures" ;;
    env-0) send_parts ;;
    env-1) send_panorama panorama.hdr ;;
    env-2) send_panorama panorama.exr ;;
    json-0) send_json batch.json /renders/batch ;;
    json-1) send_json quote.json /quote ;;
    json-2) send_json order.json /renders ;;
    glb-*) send /models -F "file=@$folder/${models[n % 3]}-$((n / 3 % ${#zips[@]})).glb" "$base/v1/models" ;;
    zip-*) send /models -F "file=@${zips[n % ${#zips[@]}]}" "$base/v1/models" ;;
    esac
}
before=$(field VmRSS)
# Sends each request once, and checks that it is read to its end. Unknown settings are rejected after that.
for request in "image 0 201" "env 0 201" "env 1 200" "env 2 200" "json 0 400" "json 1 200" "json 2 400" \
    "glb 0 201" "glb 1 201" "glb 2 201" "zip 0 201"; do
    read -r kind number expected <<<"$request"
    [[ " $kinds " == *" $kind "* ]] || continue
    attack "$kind" "$number" 0
    if [[ ! $code =~ ^$expected$ || ($expected = 400 && $answer != *invalid_settings*) ]]; then
        echo "hostile_memory: request $number of the kind $kind is not read to its end: ${answer:0:500}" >&2
        exit 1
    fi
done

end=$((SECONDS + seconds))
for ((n = 0; n < at_once; n++)); do
    for kind in $kinds; do
        (while ((SECONDS < end)); do attack "$kind" "$RANDOM" $((n % accounts)) && echo "$code"; done >>"$folder/$kind.codes") &
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
