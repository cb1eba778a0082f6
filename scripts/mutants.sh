#!/usr/bin/env bash
# Makes one change at a time to the files in .cargo/mutants.toml, and runs the tests of the changed crate. If no test fails after a
# change, a test is missing. Passes its arguments to cargo-mutants. The results are in bench-output/mutants.out.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
cargo nextest --version >/dev/null 2>&1 || { echo "mutants: cargo-nextest is missing; https://nexte.st" >&2; exit 1; }
mkdir -p bench-output
exec cargo mutants --output bench-output "$@"
