#!/usr/bin/env bash
# Rewrites the settings table in README.md from the program.
# usage: scripts/generate.sh [--check]    --check: change nothing, fail when the table is stale
set -euo pipefail
cd "$(dirname "$0")/.."

plinth=${PLINTH:-${CARGO_TARGET_DIR:-target}/debug/plinth}
if ! [[ -x $plinth ]]; then
    echo "generate: $plinth is missing; run cargo build -p plinth" >&2
    exit 1
fi
table=$(mktemp)
fresh=$(mktemp)
trap 'rm -f "$table" "$fresh"' EXIT
"$plinth" settings >"$table"
awk -v table="$table" '
    $0 == "<!-- settings -->"  { print; while ((getline line < table) > 0) print line; inside = 1; begun = 1; next }
    $0 == "<!-- /settings -->" { inside = 0; ended = begun }
    !inside                    { print }
    END                        { if (!ended) exit 1 }
' README.md >"$fresh" || { echo "generate: README.md lacks its markers <!-- settings --> and <!-- /settings -->" >&2; exit 1; }
if cmp -s "$fresh" README.md; then
    echo "generate: README.md is up to date"
elif [[ ${1:-} == --check ]]; then
    echo "generate: the settings table in README.md is stale; run make generate" >&2
    exit 1
else
    cat "$fresh" >README.md
    echo "generate: README.md rewritten"
fi
