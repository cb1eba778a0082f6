#!/usr/bin/env bash
# Prints the newest version of the GNU C library that programs or libraries need, such as 2.35.
#
#   scripts/glibc.sh OBJDUMP FILE ...
set -euo pipefail

objdump=$1
shift
"$objdump" -T "$@" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1
