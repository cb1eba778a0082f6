#!/usr/bin/env bash
# Fails if a document, the chart or the compose file names another version of Plinth than Cargo.toml, or if CHANGELOG.md has no
# section for this version. Does not check the chart's golden manifests, which the chart's own tests check.
#
#   scripts/versions.sh           during development: the section may be [Unreleased] or [VERSION]
#   scripts/versions.sh vX.Y.Z    before a release: the tag must have the version, and the section must be [VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
failed=0
fail() { echo "versions: $*" >&2; failed=1; }
found=0
check() { # PLACE VERSION
    found=$((found + 1))
    [[ $2 == "$version" ]] || fail "$1 names version $2, but Cargo.toml $version"
}
# Names of packages and images: plinth_1.2.3, plinth-1.2.3, plinth:1.2.3.
while IFS=: read -r file line name; do
    check "$file:$line" "${name:7}"
done < <(git grep -noE 'plinth[_:-][0-9]+\.[0-9]+\.[0-9]+' -- '*.md' deploy .github ':!CHANGELOG.md' ':!deploy/helm/golden')
while IFS=: read -r file line name; do
    check "$file:$line" "$(grep -oE '[0-9][^"]*' <<<"$name")"
done < <(git grep -nE '^(version|appVersion): ' -- deploy/helm/plinth/Chart.yaml)
((found > 2)) || fail "no names with versions were found"

sections="\[$version\]"
if (($# > 0)); then
    [[ $1 == "v$version" ]] || fail "the tag is $1, but the version v$version"
else
    sections+='|\[Unreleased\]'
fi
grep -qE "^## ($sections)" CHANGELOG.md || fail "CHANGELOG.md has no section ${sections//\\/}"
((failed == 0)) || exit 1
echo "versions: $found names have the version of Cargo.toml, $version"
