#!/usr/bin/env bash
# Fails if a crate's lib.rs has no docs, or re-exports an item of the crate without docs. The compiler lint missing_docs would
# require docs on every field, too, so it is enabled only in plinth-spec.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the names that the `pub use` statements of a lib.rs re-export from modules of the crate. Prints the original name of a
# renamed item, and ignores globs.
exported() {
    tr '\n' ' ' <"$1" | grep -oE 'pub use [^;]+;' | grep -vE 'pub use plinth_' |
        sed -E 's/pub use //; s/[a-z_]+:://g; s/[{};]//g' | tr ',' '\n' | sed -E 's/ as .*//; s/ //g' | grep -E '^[A-Za-z]' || true
}

# Prints "documented" or "bare" for each definition of an item, depending on the line above it and its attributes.
definition() {
    awk -v name="$1" '
        FNR == 1 { doc = 0 }
        /^ *\/\/\// { doc = 1; next }
        /^ *#\[/ || attribute { attribute = /\[/ && !/\]$/ || attribute && !/\]$/; next }
        match($0, "^ *pub (async |const |unsafe )*(struct|enum|trait|type|fn|const|static|union) " name "[^A-Za-z0-9_]") {
            print doc ? "documented" : "bare"
        }
        { doc = 0 }' $2
}

failed=0
for lib in crates/*/src/lib.rs; do
    folder=$(dirname "$lib")
    head -n 1 "$lib" | grep -q '^//!' || { echo "root_docs: $lib begins without docs" >&2; failed=1; }
    for name in $(exported "$lib"); do
        found=$(definition "$name" "$(find "$folder" -name '*.rs')")
        if [[ $found == *bare* && $found != *documented* ]]; then
            echo "root_docs: $lib re-exports $name, which has no docs" >&2
            failed=1
        fi
    done
done
[[ $failed == 0 ]] && echo "root_docs: every crate and every item that a crate's root exports has docs"
exit "$failed"
