#!/usr/bin/env bash
# Finds a program that scripts and tests call, and prints its path: the first program that has the required features, on PATH
# or in a usual folder. If there is none, prints one line to stderr that tells what is missing, and exits with 1.
#
#   scripts/find.sh ffmpeg [ENCODER ...]    PLINTH_FFMPEG, or the first with these encoders (default: libx264)
#   scripts/find.sh ffprobe                 PLINTH_TEST_FFPROBE, or ffprobe in the folder of that ffmpeg, or the first on PATH
#   scripts/find.sh python                  PLINTH_TEST_PYTHON, or the first that imports what scripts/python.txt lists
#   scripts/find.sh venv                    the first python3 that can create virtual environments
#   scripts/find.sh postgres                PLINTH_TEST_POSTGRES, or the folder of the newest initdb, postgres and pg_isready
#   scripts/find.sh aws                     the first AWS CLI that supports AWS_ENDPOINT_URL (1.29, 2.13 or newer)
#
# If one of these variables is set, only the program that it names is considered.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# A relative CARGO_TARGET_DIR is relative to the repository, as for cargo, because this script may be called from another folder.
target=$(cd "$here/.." && realpath -m "${CARGO_TARGET_DIR:-target}")

lacking() {
    echo "find: $*" >&2
    exit 1
}

# Prints the paths of all programs with these names: those on PATH in its order, then those in the usual folders of systems.
all() { # NAME ...
    local name
    for name in "$@"; do
        { type -ap "$name" || true; } | awk '!seen[$0]++'
        for folder in /usr/local/bin /usr/bin; do
            if [[ -x $folder/$name && ":$PATH:" != *":$folder:"* ]]; then echo "$folder/$name"; fi
        done
    done
}

find_ffmpeg() { # ENCODER ...
    local candidates candidate encoder listed missing said=
    candidates=$(all ffmpeg)
    if [[ -n ${PLINTH_FFMPEG:-} ]]; then candidates=$(command -v -- "$PLINTH_FFMPEG" || true); fi
    while read -r candidate; do
        [[ -n $candidate ]] || continue
        listed=$("$candidate" -hide_banner -encoders 2>/dev/null </dev/null || true)
        missing=
        for encoder in "$@"; do
            if [[ $listed != *" $encoder "* ]]; then missing+=" $encoder"; fi
        done
        if [[ -z $missing ]]; then
            echo "$candidate"
            return
        fi
        said+="; $candidate lacks$missing"
    done <<<"$candidates"
    lacking "no ffmpeg${PLINTH_FFMPEG:+ at PLINTH_FFMPEG=$PLINTH_FFMPEG} with the encoders $*$said"
}

find_ffprobe() {
    local candidate
    if [[ -n ${PLINTH_TEST_FFPROBE:-} ]]; then
        command -v -- "$PLINTH_TEST_FFPROBE" || lacking "no ffprobe at PLINTH_TEST_FFPROBE=$PLINTH_TEST_FFPROBE"
        return
    fi
    while read -r candidate; do
        if [[ -n $candidate ]] && "$candidate" -version >/dev/null 2>&1 </dev/null; then
            echo "$candidate"
            return
        fi
    done < <({ dirname "$(find_ffmpeg libx264 2>/dev/null)" | sed 's#$#/ffprobe#'; all ffprobe; })
    lacking "no ffprobe (it comes with ffmpeg)"
}

find_python() {
    local candidates candidate said
    candidates="$target/python/bin/python"$'\n'$(all python3 python)
    if [[ -n ${PLINTH_TEST_PYTHON:-} ]]; then candidates=$(command -v -- "$PLINTH_TEST_PYTHON" || true); fi
    while read -r candidate; do
        # has_packages.py prints the path of the Python that runs it, because the candidate may be a shim that chooses a Python
        # by the current folder.
        if [[ -x $candidate ]] && said=$("$candidate" "$here/has_packages.py" 2>/dev/null </dev/null); then
            echo "$said"
            return
        fi
    done <<<"$candidates"
    lacking "no Python 3.10${PLINTH_TEST_PYTHON:+ at PLINTH_TEST_PYTHON=$PLINTH_TEST_PYTHON} with" \
        "$(sed -e '/^#/d' -e 's/>=/ /' "$here/python.txt" | paste -sd,) or newer"
}

find_venv() {
    local candidate
    while read -r candidate; do
        if [[ -n $candidate ]] && "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' \
            >/dev/null 2>&1 </dev/null; then
            echo "$candidate"
            return
        fi
    done < <(all python3 python)
    lacking "no Python 3.10 or newer that can create virtual environments"
}

find_postgres() {
    local folder
    if [[ -n ${PLINTH_TEST_POSTGRES:-} ]]; then
        [[ -x $PLINTH_TEST_POSTGRES/initdb ]] || lacking "no initdb in PLINTH_TEST_POSTGRES=$PLINTH_TEST_POSTGRES"
        echo "$PLINTH_TEST_POSTGRES"
        return
    fi
    while read -r folder; do
        if [[ -x $folder/initdb && -x $folder/postgres && -x $folder/pg_isready ]]; then
            echo "$folder"
            return
        fi
    done < <({
        # PostgreSQL's folders on Debian and Fedora are not on PATH. The newest version comes first.
        { compgen -G "/usr/lib/postgresql/*/bin"; compgen -G "/usr/pgsql-*/bin"; } | sort -Vr || true
        pg_config --bindir 2>/dev/null || true
        all initdb | sed 's#/initdb$##'
    })
    lacking "no PostgreSQL server (initdb, postgres, pg_isready)"
}

find_aws() {
    local candidate version oldest
    while read -r candidate; do
        # aws-cli/2.13.0 Python/3.11.4 ...
        version=$("$candidate" --version 2>/dev/null </dev/null | sed -n 's#^aws-cli/\([0-9]*\.[0-9]*\).*#\1#p')
        case $version in
            1.*) oldest=1.29 ;;
            *) oldest=2.13 ;;
        esac
        if [[ -n $version && $(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1) == "$oldest" ]]; then
            echo "$candidate"
            return
        fi
    done < <(
        if [[ -x $target/aws/bin/aws ]]; then echo "$target/aws/bin/aws"; fi
        all aws
    )
    lacking "no AWS CLI of version 1.29, 2.13 or newer"
}

case ${1:-} in
    ffmpeg)
        shift
        find_ffmpeg "${@:-libx264}"
        ;;
    ffprobe) find_ffprobe ;;
    python) find_python ;;
    venv) find_venv ;;
    postgres) find_postgres ;;
    aws) find_aws ;;
    *) lacking "usage: scripts/find.sh ffmpeg|ffprobe|python|venv|postgres|aws" ;;
esac
