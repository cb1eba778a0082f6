#!/usr/bin/env bash
# Generates clients from the OpenAPI document with three public generators, and fails if one of them prints a warning, skips
# an operation, or writes code that does not compile. Needs the registries of pip and npm, a Python that can create virtual
# environments, and Node 20 or newer. Installs and writes everything below the target folder.
#
#   scripts/openapi_clients.sh [DOCUMENT]     DOCUMENT: a file; default: the output of `plinth openapi`
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest versions on 2026-11-23, except for TypeScript: version 7 has no programmatic API, which both npm generators need.
python_packages=(openapi-python-client==0.29.1 ruff==0.17.6)
node_packages=(openapi-typescript@7.13.0 @hey-api/openapi-ts@0.95.0 typescript@5.9.3)

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
place=$target/openapi_clients
made=$place/made
say() { echo "openapi_clients: $*"; }
fail() { echo "openapi_clients: $*" >&2; exit 1; }

mkdir -p "$place/node"
rm -rf "$made"
mkdir "$made"
if (($#)); then
    cp "$1" "$made/openapi.json"
else
    "${PLINTH:-$target/debug/plinth}" openapi >"$made/openapi.json"
fi
if [[ ! -x $place/python/bin/python ]]; then
    python=$(scripts/find.sh venv)
    "$python" -m venv "$place/python"
fi
"$place/python/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
npm install --silent --no-audit --no-fund --prefix "$place/node" "${node_packages[@]}"
export PATH="$place/python/bin:$place/node/node_modules/.bin:$PATH"

# The ids of all operations in the document, one per line.
operations=$(python - "$made/openapi.json" <<'PYTHON'
import json, sys
paths = json.load(open(sys.argv[1]))["paths"]
print("\n".join(sorted(operation["operationId"] for item in paths.values() for operation in item.values())))
PYTHON
)
has_all() { # GENERATOR, and on stdin the operations of its client
    diff --label "the document" --label "$1" -U 0 <(echo "$operations") <(sort) >&2 ||
        fail "the client of $1 does not have all operations of the document"
}
warns() { # GENERATOR FILE: whether its output has a warning
    if grep -inE 'warn|error|unsupported|unable|cannot' "$2" >&2; then fail "$1 printed a warning"; fi
}

say "openapi-python-client"
openapi-python-client generate --path "$made/openapi.json" --output-path "$made/python" --fail-on-warning \
    >"$made/python.log" 2>&1 || { cat "$made/python.log" >&2; fail "openapi-python-client failed or printed a warning"; }
warns openapi-python-client "$made/python.log"
find "$made/python" -path '*/api/*/*.py' ! -name __init__.py -printf '%f\n' | sed 's/\.py$//' | has_all openapi-python-client
python -m compileall -q "$made/python"

say "openapi-typescript"
openapi-typescript "$made/openapi.json" -o "$made/openapi-typescript.ts" >"$made/openapi-typescript.log" 2>&1 ||
    { cat "$made/openapi-typescript.log" >&2; fail "openapi-typescript rejects the document"; }
warns openapi-typescript "$made/openapi-typescript.log"
sed -n '/^export interface operations {$/,/^}$/ s/^    \([a-z0-9_]*\): {$/\1/p' "$made/openapi-typescript.ts" |
    has_all openapi-typescript

say "@hey-api/openapi-ts"
openapi-ts -i "$made/openapi.json" -o "$made/hey-api" >"$made/hey-api.log" 2>&1 ||
    { cat "$made/hey-api.log" >&2; fail "@hey-api/openapi-ts rejects the document"; }
warns @hey-api/openapi-ts "$made/hey-api.log"
sed -n 's/^export const \([A-Za-z0-9]*\) = <.*/\1/p' "$made/hey-api/sdk.gen.ts" |
    sed 's/[A-Z]/_\l&/g' | has_all @hey-api/openapi-ts

tsc --noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable \
    "$made/openapi-typescript.ts" "$made/hey-api/index.ts" || fail "the generated TypeScript does not compile"
say "$(wc -l <<<"$operations") operations in each of the three clients, without a warning"
