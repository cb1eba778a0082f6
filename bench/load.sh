#!/usr/bin/env bash
# Measures how fast a server with many renders in its database responds, on SQLite and on PostgreSQL.
set -euo pipefail

usage() {
    cat <<'WORDS'
usage: bench/load.sh [sqlite | postgres]        default: both, one after the other

Prints requests per second, the processor time of server and client per request, and percentiles of the response time, for
- 64 connections that read single renders and pages of lists,
- one connection that polls and filters a large workspace that does not change, and 64 that list its renders in one state,
- 64 connections that upload models, order renders and poll them; here also the server's memory, open files and threads
  at the beginning and at the end, and their growth per hour.

environment:
  LOAD_PROGRAM         absolute path of the program that serves, for example the one of `make release` (default: a build whose
                       dependencies are not optimised, which takes more processor time for each request)
  LOAD_RENDERS         renders of the first workspace (default: 100000)
  LOAD_QUIET_RENDERS   renders of the large workspace (default: 1000000)
  LOAD_SECONDS         duration of the last part (default: 60; 3600 shows whether anything grows)
  LOAD_PAUSE_MS        pause of each of the 64 connections between its orders (default: 0)
WORDS
}

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    "" | sqlite | postgres) ;;
    *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
exec scripts/tools.sh test cargo test --config bench/service_profile.toml --workspace --test program -- \
    --ignored --nocapture --test-threads 1 "serve::load::load_${1:-}"
