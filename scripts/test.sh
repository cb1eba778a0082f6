#!/usr/bin/env bash
# Runs all tests, even after failures, with cargo-nextest if it is installed. At the end it prints which tests were not run, the
# failed tests with the commands that run them, and how many tests passed, failed and were skipped. The whole output is in
# TARGET/test.log.
# usage: scripts/tools.sh test scripts/test.sh [arguments of cargo test or cargo nextest run]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

target=${CARGO_TARGET_DIR:-target}
log=$target/test.log
mkdir -p "$target"
nextest=no
if cargo nextest --version >/dev/null 2>&1; then nextest=yes; fi
if [[ -t 1 ]]; then export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}; fi
SECONDS=0
echo "tests: ffmpeg $PLINTH_FFMPEG, Python $PLINTH_TEST_PYTHON, PostgreSQL $PLINTH_TEST_POSTGRES"
if [[ $nextest == yes ]]; then
    # Half as many tests again as processors, because many tests wait for time to pass.
    export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS:-$(($(nproc) * 3 / 2))}
    cargo nextest run --workspace --no-fail-fast "$@" 2>&1 | tee "$log"
else
    cargo test --workspace --no-fail-fast "$@" 2>&1 | tee "$log"
fi
status=${PIPESTATUS[0]}

# Prints the log without colours.
plain() { sed 's/\x1b\[[0-9;]*m//g' "$log"; }

# Prints "PASSED FAILED SKIPPED".
numbers() {
    if [[ $nextest == yes ]]; then
        plain | awk '
            # 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 2 skipped
            $1 == "Summary" {
                for (i = 2; i < NF; i++) {
                    if ($(i + 1) ~ /^passed/) passed = $i
                    if ($(i + 1) ~ /^(failed|timed|exec)/) failed += $i
                    if ($(i + 1) ~ /^skipped/) skipped = $i
                }
            }
            END { print passed + 0, failed + 0, skipped + 0 }'
    else
        # test result: FAILED. 5 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
        # A test program that crashed prints no such line, and counts as one failure.
        plain | awk '
            $1 " " $2 == "test result:" { p += $4; f += $6; i += $8; told = 1 }
            / to rerun pass `/ { if (!told) f++ }
            /^ *(Running|Doc-tests) / { told = 0 }
            END { print p + 0, f + 0, i + 0 }'
    fi
}

# Prints the command for each failed test. It uses --workspace, because for a single crate cargo would rebuild the
# dependencies with fewer features.
alone() {
    if [[ $nextest == yes ]]; then
        # After the summary:   FAIL [   0.010s] (1/9) plinth-media::it failure::the_error_names_a_full_disk
        plain | awk '
            $1 == "Summary" { ended = 1; next }
            ended && $1 ~ /^(FAIL|TIMEOUT|SIG[A-Z]+|ABORT|XFAIL|EXECFAIL)$/ {
                n = split($(NF - 1), part, "::")
                where = n == 1 ? "--lib" : n == 2 ? "--test " part[2] : "--" part[2] " " part[3]
                print "cargo test --workspace " where " -- --exact " $NF
            }' | sort -u
    else
        # test failure::the_error_names_a_full_disk ... FAILED, and after its binary: to rerun pass `-p plinth-media --test it`
        plain | awk '
            /^test .* \.\.\. FAILED$/ { sub(/^test /, ""); sub(/ - should panic \.\.\. FAILED$| \.\.\. FAILED$/, ""); name[n++] = $0 }
            /to rerun pass `/ {
                where = $0
                sub(/.*to rerun pass `/, "", where); sub(/`.*/, "", where)
                # The name of a doc test cannot be passed to the test program, so all doc tests of the crate are run.
                if (where ~ /--doc$/) n = 0
                if (n > 0) sub(/^-p [^ ]+/, "--workspace", where)
                for (i = 0; i < n; i++) print "cargo test " where " -- --exact \"" name[i] "\""
                if (n == 0) print "cargo test " where
                n = 0
            }' | sort -u
    fi
}

read -r passed failed skipped < <(numbers)
unchecked=()
if ((skipped > 0)); then unchecked+=("benchmarks and tests that need root: $skipped (bench/load.sh, make faults)"); fi
python=${LOADERS_PYTHON:-$PLINTH_TEST_PYTHON}
if ! "$python" -c 'import pycolmap' >/dev/null 2>&1; then
    unchecked+=("a dataset by COLMAP's own reader: pycolmap is not installed (make loaders)")
    skipped=$((skipped + 1))
fi
if [[ -z ${GSPLAT_EXAMPLES:-} ]]; then
    unchecked+=("a dataset by gsplat's reader: it is not installed (make loaders)")
    skipped=$((skipped + 1))
fi
if ! scripts/find.sh aws >/dev/null 2>&1; then
    unchecked+=("a bucket copied and put back by the AWS CLI: it is not installed (make setup)")
    skipped=$((skipped + 1))
fi
if ! command -v chromedriver >/dev/null 2>&1; then
    unchecked+=("the web UI in a browser: there is no chromedriver (Debian: chromium-driver)")
    skipped=$((skipped + 2))
fi

echo
for words in "${unchecked[@]}"; do echo "not run: $words"; done
if ((status != 0)); then
    # Counts at least one failure, because after a compile error or a crash of a test program no failed test is named.
    failed=$((failed > 0 ? failed : 1))
    commands=$(alone)
    if [[ -n $commands ]]; then printf 'failed; each alone:\n%s\n' "$commands"; else echo "failed before all tests were run: see above"; fi
fi
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s; the whole output is in $log"
echo "tests: $passed passed, $failed failed, $skipped skipped"
exit "$status"
