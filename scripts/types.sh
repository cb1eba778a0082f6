#!/usr/bin/env bash
# Checks the types in the JSDoc comments of the web UI's scripts with tsc, the compiler of TypeScript. Installs tsc with npm in
# the target folder. On a machine without Node, prints that the types were not checked.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/.." && realpath -m "${CARGO_TARGET_DIR:-target}")
version=5.9.3
package=$target/typescript/$version

not_checked() {
    echo "not checked: types of the web UI's scripts, because $1"
    exit 0
}

if ! command -v node >/dev/null || ! node --version >/dev/null 2>&1; then not_checked "Node is not installed"; fi
tsc=$package/node_modules/typescript/bin/tsc
if [[ ! -e $tsc ]]; then
    if ! command -v npm >/dev/null; then not_checked "npm is not installed"; fi
    echo "types: to install with npm into $package: typescript $version (about 4 MB to download, 24 MB on disk)"
    npm install --prefix "$package" --no-save --no-audit --no-fund --ignore-scripts --loglevel error --fetch-retries 1 \
        "typescript@$version" >/dev/null || not_checked "typescript could not be installed"
fi
node "$tsc" --project "$here/../crates/plinth-studio/assets/tsconfig.json"
