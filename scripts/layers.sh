#!/usr/bin/env bash
# Compares the dependencies of each crate of the workspace with the layer table in ARCHITECTURE.md.
set -euo pipefail
cd "$(dirname "$0")/.."

# Reads the rows below the heading "Layer table" as sorted lines of the form "crate: dependency dependency".
told=$(awk -F '|' '
    /^#/                          { inside = /Layer table/ }
    inside && $2 ~ /^ *plinth/    { gsub(/[ ]/, "", $2); gsub(/,/, " ", $3); print $2 ":" $3 }
' ARCHITECTURE.md | while IFS=: read -r crate dependencies; do
    # shellcheck disable=SC2086  # words, one a line
    echo "$crate: $(printf '%s\n' $dependencies | sort | xargs)"
done | sort)

tree() { cargo tree --all-features --edges normal,build --prefix none "$@" | awk '$1 ~ /^plinth/ { print $1 }' | sort -u; }
found=$(for crate in $(tree --workspace --depth 0); do
    echo "$crate: $(tree --package "$crate" --depth 1 | grep -vx "$crate" | xargs || true)"
done | sort)

if [[ -z $told || -z $found ]]; then
    echo "layers: no table found in ARCHITECTURE.md, or no crates" >&2
    exit 1
fi
if ! diff --label "ARCHITECTURE.md, layer table" --label "Cargo.toml of the crates" -U 0 <(echo "$told") <(echo "$found") >&2; then
    echo "layers: add a new dependency to the table in ARCHITECTURE.md and give the reason in the commit, or remove it" >&2
    exit 1
fi
echo "layers: $(wc -l <<<"$found") crates depend on each other as the table in ARCHITECTURE.md says"
