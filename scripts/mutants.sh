#!/usr/bin/env bash
# Changes the code of the files in .cargo/mutants.toml, one place at a time, and runs the tests of its crate. If no test fails
# after a change, a test is missing. Passes its arguments to cargo-mutants. The results are in bench-output/mutants.out.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
cargo nextest --version >/dev/null 2>&1 || { echo "mutants: cargo-nextest is missing; https://nexte.st" >&2; exit 1; }
mkdir -p bench-output
exec cargo mutants --output bench-output "$@"
