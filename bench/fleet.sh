#!/usr/bin/env bash
# Starts a PostgreSQL server and measures how it copes with a simulated fleet of workers.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/fleet.sh [WORKERS [JOB_SECONDS [SECONDS]]]       default: 1000 workers, jobs of 10 s, measured for 180 s

Queues RENDERS (1000000) renders of ACCOUNTS (10000) accounts, and runs simulated workers that claim, renew, report and package like
real workers, but wait instead of drawing. Prints requests per second and their p50 and p99 by kind, connections, the processor
time of PostgreSQL, and the tables' size and dead rows before and after. A simulated worker has one connection.

RENDERS=0 leaves the queue empty: all workers are idle and listen, each with a second connection, and 100 renders are ordered
one after another. Prints how long the orders waited for a worker, and how many workers queried the queue without finding work.

Needs about 5 MB of memory per connection, and 3 GB of disk. Tables are written with fsync.
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
exec scripts/tools.sh test cargo bench --config bench/service_profile.toml --quiet --workspace --profile dev --bench fleet -- \
    "${1:-1000}" "${RENDERS:-1000000}" "${ACCOUNTS:-10000}" "${2:-10}" "${3:-180}"
