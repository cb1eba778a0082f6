#!/usr/bin/env bash
# Builds the tests of one crate and runs the fastest of them, for the loop of editing, building and testing.
# usage: scripts/tools.sh test scripts/quick.sh CRATE [TESTS]
#
# Which tests are the fastest is measured, not declared: the tests are sorted by the time that each took when it last ran, here
# or in `make test`, and run until their times add up to what building leaves of 15 seconds, but to five seconds at least, per core.
# Tests that were never run, or that failed last time, always run. TESTS is a part of names of tests; all of these run, however long they take.
#
# The times are in TARGET/quick/CRATE, a line per test: seconds, binary, name.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${1:-} ]]; then
    echo "quick: which crate? make quick CRATE=plinth-db" >&2
    exit 2
fi
crate=plinth${1#plinth}
if [[ $1 != plinth* ]]; then crate=plinth-$1; fi
tests=${2:-}
if ! [[ -d crates/$crate ]]; then
    echo "quick: there is no crate $crate; crates:" crates/* >&2
    exit 2
fi
if ! cargo nextest --version >/dev/null 2>&1; then
    echo "quick: cargo-nextest is missing; https://nexte.st" >&2
    exit 2
fi
target=${CARGO_TARGET_DIR:-target}
times=$target/quick/$crate
mkdir -p "$target/quick"
touch "$times"

# Adds the times of a run to the file: SELECTOR, a pattern for names of binaries, and the run's report.
add_times() {
    awk -v crate="$crate" -v known="$times" '
        function attribute(name,   rest) {
            if (!match($0, " " name "=\"[^\"]*\"")) return ""
            rest = substr($0, RSTART, RLENGTH)
            sub(/^[^"]*"/, "", rest); sub(/"$/, "", rest)
            return rest
        }
        FILENAME == known { seconds[$2 " " $3] = $1; next }
        /<testcase / {
            binary = attribute("classname")
            test = binary " " attribute("name")
            if (binary == crate || index(binary, crate "::") == 1) seconds[test] = attribute("time")
        }
        # A failed test runs again.
        /<(failure|error)/ { if (test in seconds) seconds[test] = 0 }
        END { for (test in seconds) print seconds[test], test }
    ' "$times" "$1" | sort -n >"$times.new"
    mv "$times.new" "$times"
}
last=$target/nextest/default/junit.xml
if [[ $last -nt $times || ! -s $times ]] && [[ -f $last ]]; then add_times "$last"; fi

# The package of the program is selected, too, because its features are those of the whole workspace. Otherwise the crates of
# others would be compiled once more for each selection of features. Its tests have another name, so they are not built.
select=(--package plinth)
if [[ $crate == plinth ]]; then
    select+=(--bins --test program)
else
    select+=(--package "$crate" --lib)
    if [[ -d crates/$crate/tests ]]; then select+=(--test it); fi
fi
# Tests of these crates start this program. Next to --lib or --test, nextest would build examples as tests.
if [[ $crate == plinth || $crate == plinth-fence ]]; then
    cargo build --package plinth --package plinth-fence --example hostile
fi

cargo nextest run --profile quick --no-run "${select[@]}"
left=$((15 - SECONDS))
most=$(((left > 5 ? left : 5) * $(nproc)))

# An expression that leaves out the tests which do not fit.
if [[ -n $tests ]]; then
    # No test of this name is an error, a crate without tests is not.
    filter="test(/$tests/)"
else
    select+=(--no-tests pass)
    filter=$(awk -v most="$most" '
        (sum += $1) > most { skipped[$2] = skipped[$2] " | test(=" $3 ")" }
        END {
            printf "all()"
            for (binary in skipped) printf " - (binary_id(%s) & (none()%s))", binary, skipped[binary]
        }' "$times")
fi
status=0
cargo nextest run --profile quick --no-fail-fast "${select[@]}" -E "$filter" || status=$?
ran=$target/nextest/quick/junit.xml
if [[ $ran -nt $times ]]; then add_times "$ran"; fi
awk -v most="$most" -v crate="$crate" '
    (sum += $1) <= most { fit++; slowest = $1; next }
    { left += $1 }
    END {
        if (fit == NR) printf "quick: all %d tests of %s\n", NR, crate
        else printf "quick: the %d tests of %s that take up to %.1f s; the other %d take %d s, in `make test`\n", fit, crate, slowest, NR - fit, left
    }' "$times"
exit "$status"
