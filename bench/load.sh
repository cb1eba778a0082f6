#!/usr/bin/env bash
# Measures requests per second with 100 000 renders in the database, from 64 connections, on SQLite and on PostgreSQL.
# usage: bench/load.sh
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/tools.sh test cargo test --config bench/service_profile.toml --workspace --test it -- --ignored --nocapture --test-threads 1 serve::load::
