#!/usr/bin/env bash
# Installs dataset readers of other projects in a folder where `make test` finds them: pycolmap, and gsplat's reader with
# torch (some GB, from the registry that pip uses). GSPLAT_EXAMPLES names the folder examples/ of a copy of
# gsplat. If it is not set, the tested version of gsplat is fetched with git.
#
#   scripts/loaders.sh FOLDER
set -euo pipefail

# github.com/nerfstudio-project/gsplat of 2026-08-20.
commit=90d7b4b349e379ccf9ee6a8cef76aa40f48bb32e

folder=${1:?"usage: scripts/loaders.sh FOLDER"}
here=$(cd "$(dirname "$0")/.." && pwd)
say() { echo "loaders: $*"; }

if [[ ! -x $folder/bin/python ]]; then
    say "making $folder"
    base=$("$here/scripts/find.sh" venv)
    "$base" -m venv "$folder"
fi
say "installing what bench/loaders.txt lists (with torch: about 1 GB to download, 3 GB and more on disk)"
"$folder/bin/pip" install --quiet --requirement "$here/bench/loaders.txt"
if [[ -n ${GSPLAT_EXAMPLES:-} ]]; then
    say "using gsplat's reader in $GSPLAT_EXAMPLES"
elif [[ ! -d $folder/gsplat/examples ]]; then
    say "fetching gsplat at $commit"
    git init --quiet "$folder/gsplat"
    git -C "$folder/gsplat" fetch --quiet --depth 1 https://github.com/nerfstudio-project/gsplat "$commit"
    git -C "$folder/gsplat" checkout --quiet FETCH_HEAD -- examples
fi
say "ready: make test reads a dataset with them"
