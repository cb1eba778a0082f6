#!/usr/bin/env bash
# Fails if a document names a file or folder that does not exist, as the target of a relative link, or as a path in backticks that
# begins with a folder of this repository.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=0
pages=0
while IFS= read -r page; do
    pages=$((pages + 1))
    folder=$(dirname "$page")
    while IFS= read -r link; do
        if ! [[ -e $folder/$link ]]; then
            echo "paths: $page links $link, which does not exist" >&2
            missing=1
        fi
    done < <({ grep -oE '\]\([^)# ]+' "$page" | cut -c 3- | grep -v :; grep -oE '<img src="[^":]+' "$page" | cut -c 11-; } || true)
    # Old entries of the changelog may name files that no longer exist.
    [[ $page == CHANGELOG.md ]] && continue
    while IFS= read -r path; do
        if ! [[ -e $path ]]; then
            echo "paths: $page names $path, which does not exist" >&2
            missing=1
        fi
    done < <(grep -oE '`(crates/plinth[a-z-]*|docs|scripts|bench|deploy|packages|fuzz|fixtures|\.ci)/[A-Za-z0-9_./-]+`' "$page" | tr -d '`' || true)
done < <(git ls-files --cached --others --exclude-standard -- '*.md')
((missing == 0)) || exit 1
echo "paths: every file that $pages documents name exists"
