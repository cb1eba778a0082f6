#!/usr/bin/env bash
# Rewrites the tables that the program generates: settings in docs/settings.md, configuration in docs/operations.md,
# failure codes in docs/api.md.
# usage: scripts/generate.sh [--check]    --check: change nothing; fail if a table is out of date
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
stale=0

rewrite() { # FILE MARK: replaces the text between <!-- MARK --> and <!-- /MARK --> by $table
    awk -v table="$table" -v mark="$2" '
        $0 == "<!-- " mark " -->"  { print; while ((getline line < table) > 0) print line; inside = 1; begun = 1; next }
        $0 == "<!-- /" mark " -->" { inside = 0; ended = begun }
        !inside                    { print }
        END                        { if (!ended) exit 1 }
    ' "$1" >"$fresh" || { echo "generate: $1 lacks its markers <!-- $2 --> and <!-- /$2 -->" >&2; exit 1; }
    if cmp -s "$fresh" "$1"; then
        echo "generate: $1 is up to date"
    elif [[ $check == yes ]]; then
        echo "generate: the table '$2' in $1 is out of date; run make generate" >&2
        stale=1
    else
        cat "$fresh" >"$1"
        echo "generate: $1 rewritten"
    fi
}

check=no
[[ ${1:-} == --check ]] && check=yes
# Adds a column with the setting's picture from the gallery.
"$plinth" settings | awk -F '|' '
    NR == 1 { print $0 " in pictures |"; next }
    NR == 2 { print $0 "---|"; next }
    {
        key = $2; gsub(/[ `]/, "", key); picture = ""
        for (model = split("flight_helmet still_life", models, " "); model > 0; model--) {
            file = "gallery/" key "-" models[model] ".webp"
            if (system("test -e docs/" file) == 0) picture = "<img src=\"" file "\" width=\"480\" alt=\"" key "\">"
        }
        if (picture == "" && (key == "decals" || key == "materialEdits")) picture = "[gallery](gallery/index.html#" key ")"
        print $0 " " picture " |"
    }' >"$table"
rewrite docs/settings.md settings
"$plinth" settings --configuration >"$table"
rewrite docs/operations.md configuration
"$plinth" settings --failure-codes >"$table"
rewrite docs/api.md failure-codes
exit "$stale"
