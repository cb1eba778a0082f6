#!/usr/bin/env bash
# Runs a command with environment variables that name the programs found by scripts/find.sh: PLINTH_FFMPEG, and with
# `test` also PLINTH_TEST_FFPROBE, PLINTH_TEST_PYTHON and PLINTH_TEST_POSTGRES.
#
#   scripts/tools.sh render COMMAND ...
#   scripts/tools.sh test COMMAND ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
purpose=$1
shift
encoders=(libx264)
if [[ $purpose == test ]]; then encoders+=(prores_ks); fi
PLINTH_FFMPEG=$("$here/find.sh" ffmpeg "${encoders[@]}")
export PLINTH_FFMPEG
if [[ $purpose == test ]]; then
    PLINTH_TEST_FFPROBE=$("$here/find.sh" ffprobe)
    PLINTH_TEST_PYTHON=$("$here/find.sh" python)
    PLINTH_TEST_POSTGRES=$("$here/find.sh" postgres)
    export PLINTH_TEST_FFPROBE PLINTH_TEST_PYTHON PLINTH_TEST_POSTGRES
fi
exec "$@"
