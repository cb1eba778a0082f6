#!/usr/bin/env bash
# Measures how much longer a service takes for orders of one model than `plinth render --all` takes for the same
# renders.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/throughput.sh [MODEL.glb]      default: the sample model

Renders ORDERS videos of a model, which differ in one setting, one after the other with `plinth render --all`. Then orders the same
videos from a service on this machine: SQLite, a folder as store, one worker. Prints for both the elapsed seconds and the seconds
of all processors, and the ratios of the service to `plinth render`:
  rendered    until the last video was finished
  packaged    until the last video was also packaged for streaming, which `plinth render` does not do
The seconds of processors include packaging. On a machine with other work, only the seconds of processors can be compared, and only if
the other work is equal in both measurements; set TURNS for that. A worker keeps the model loaded if the next order follows
immediately, so with TURNS=1 each order loads the model.

variables:
  ORDERS=50  QUALITY=share  LENGTH=4 (seconds)
  SETTING=startAngle  the setting that differs. A turntable ignores startAngle, so all videos have the same light, like orders that
             differ only in background or length. With rotateY, the light of each video is baked for its own cameras.
  TURNS=0    with TURNS=N, N videos are rendered and then ordered, before the next N
  LIMIT=R    fails if the service takes more than R times as long in elapsed seconds, for `rendered`
  PLINTH     the program (default: target/debug/plinth)
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
model=$(realpath "${1:-$root/fixtures/models/flight_helmet.glb}")
plinth=$(realpath "${PLINTH:-${CARGO_TARGET_DIR:-$root/target}/debug/plinth}")
orders=${ORDERS:-50} quality=${QUALITY:-share} length=${LENGTH:-4} turns=${TURNS:-0} setting=${SETTING:-startAngle}
PLINTH_FFMPEG=$("$root/scripts/find.sh" ffmpeg libx264)
export PLINTH_FFMPEG
unset PLINTH_CONFIG
work=$(mktemp -d)
server=
cleanup() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

now() { date +%s.%N; }
# Prints the processor time of a process and its ended children, in seconds.
processors() { # PID
    sed 's/.*) //' "/proc/$1/stat" | awk -v ticks="$(getconf CLK_TCK)" '{ print ($12 + $13 + $14 + $15) / ticks }'
}
# Prints the processor time of the server and its children, in seconds. Includes running children, because a job process stays
# and waits for the next order of its model.
service_processors() {
    local process sum=0
    for process in "$server" $(cat "/proc/$server/task"/*/children); do
        sum=$(plus "$sum" "$(processors "$process" 2>/dev/null || echo 0)")
    done
    echo "$sum"
}
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a - b }'; }
plus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a + b }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
angle() { echo $((360 * $1 / orders - 180)); }
ordered() { echo "{\"quality\":\"$quality\",\"length\":$length,\"$setting\":$(angle "$1")}"; }

alone() { # NUMBER
    "$plinth" render "$model" -o "alone-$1.mp4" --all --settings "$(ordered "$1")" --cache-dir "$work/light" -q >/dev/null 2>"$work/alone.log" || {
        cat "$work/alone.log" >&2
        exit 1
    }
}

# Bakes the light for `plinth render` before the measurement. The service also bakes it before, for the render of the upload.
"$plinth" render "$model" -o warm.mp4 --quality "$quality" --length 0.1 --cache-dir "$work/light" -q >/dev/null
if ((!turns)); then
    begin=$(now) spent=$(processors $$)
    for ((i = 0; i < orders; i++)); do alone $i; done
    alone_clock=$(minus "$(now)" "$begin")
    alone_cpu=$(minus "$(processors $$)" "$spent")
fi

"$plinth" serve --data "$work/data" --listen 127.0.0.1:0 --rate-limit-per-minute 100000 >out 2>log &
server=$!
until grep -qs plinth_sk_ out; do
    kill -0 "$server" 2>/dev/null || { cat log >&2; exit 1; }
    sleep 0.05
done
base=$(grep -o 'http://[0-9.:]*' out | head -n 1)/v1
admin() { PLINTH_DATA_DIR=$work/data "$plinth" admin "$@" --json; }
account=orders@example.org
admin account create "$account" >/dev/null
admin credits grant "$account" 1000000 >/dev/null
key=$(admin key create --account "$account" | sed 's/.*"token":"\([^"]*\)".*/\1/')
api() { curl -sS -f -H "Authorization: Bearer $key" "$@"; }
plain="{\"quality\":\"share\",\"length\":0.1}"
api -F "file=@$model" -F "renderSettings=$plain" "$base/models" >upload
id=$(sed 's/.*"modelId":"\([^"]*\)".*/\1/' upload)
unfinished() { # STATE: whether a render of the model is not in this state
    api "$base/renders?model=$id&limit=100" | grep -o "\"$1\":\"[^\"]*\"" | sort | uniq -c >states
    if grep -qE '"(error|failed)"' states; then cat states log >&2; exit 1; fi
    grep -qvE '"(done|ready)"' states
}
while unfinished status || unfinished hlsStatus; do sleep 0.2; done
order() { # NUMBER
    api -H 'Content-Type: application/json' -d "{\"modelId\":\"$id\",\"renderSettings\":$(ordered "$1")}" "$base/renders" >/dev/null
}
# The list of renders is requested only once a second, because each request takes processor time from the renders.
if ((turns)); then
    alone_cpu=0 service_cpu=0
    for ((i = 0; i < orders; i += turns)); do
        spent=$(processors $$)
        for ((j = i; j < i + turns; j++)); do alone $j; done
        alone_cpu=$(plus "$alone_cpu" "$(minus "$(processors $$)" "$spent")")
        spent=$(service_processors)
        for ((j = i; j < i + turns; j++)); do order $j; done
        while unfinished status || unfinished hlsStatus; do sleep 1; done
        service_cpu=$(plus "$service_cpu" "$(minus "$(service_processors)" "$spent")")
    done
    printf '%s orders of %s, %s, %s s, in turns of %s: plinth render --all %s s of processors, service %s s, ratio %s\n' \
        "$orders" "$(basename "$model")" "$quality" "$length" "$turns" "$alone_cpu" "$service_cpu" "$(ratio "$service_cpu" "$alone_cpu")"
    exit
fi
begin=$(now) spent=$(service_processors)
for ((i = 0; i < orders; i++)); do order $i; done
while unfinished status; do sleep 1; done
rendered=$(minus "$(now)" "$begin")
while unfinished hlsStatus; do sleep 1; done
packaged=$(minus "$(now)" "$begin")
service_cpu=$(minus "$(service_processors)" "$spent")

printf '%-38s %10s %12s\n' "$orders orders of $(basename "$model"), $quality, $length s" "clock s" "processor s"
printf '%-38s %10s %12s\n' 'plinth render --all' "$alone_clock" "$alone_cpu"
printf '%-38s %10s\n' 'service, rendered' "$rendered"
printf '%-38s %10s %12s\n' 'service, packaged' "$packaged" "$service_cpu"
printf 'ratios: rendered %s, packaged %s, processors %s\n' \
    "$(ratio "$rendered" "$alone_clock")" "$(ratio "$packaged" "$alone_clock")" "$(ratio "$service_cpu" "$alone_cpu")"
awk -v ratio="$(ratio "$rendered" "$alone_clock")" -v limit="${LIMIT:-1000}" 'BEGIN { exit ratio > limit }' ||
    { echo "the service takes more than $LIMIT times as long" >&2; exit 1; }
