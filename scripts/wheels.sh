#!/usr/bin/env bash
# Makes the Python wheels: `plinth`, which carries the program, and `plinth-lavapipe`, a Vulkan driver for plinth[bundled].
#
#   scripts/wheels.sh PROGRAM LICENCES VERSION TARGET-FOLDER TRIPLE
#
# LICENCES is a folder with the licence texts, TRIPLE the target for which the program was built. The wheel with the driver is
# made only for this machine's architecture, because the driver is copied from this machine's packages (Debian, Ubuntu). An SBOM
# beside the wheels lists these packages. Needs pip's registry and what scripts/setup.sh dist installs.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin" # ldconfig, which users other than root do not have on their PATH on Debian
here=$(cd "$(dirname "$0")/.." && pwd)
program=$1
licences=$2
version=$3
out=$4
arch=${5%%-*}
say() { echo "wheels: $*"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$("$here/scripts/find.sh" venv)
mkdir -p "$out"
# A Python with venv need not have pip, and pip knows --config-settings since version 22.1.
pip=$(cd "$here" && realpath -m "${CARGO_TARGET_DIR:-target}")/wheels
"$python" -m venv --clear "$pip"
"$pip/bin/python" -m pip install --quiet --disable-pip-version-check 'pip>=22.1'
"$python" -B "$here/packages/python/test_launcher.py" --quiet

objdump=objdump
if [[ $arch != "$(uname -m)" ]]; then objdump=$arch-linux-gnu-objdump; fi

# Prints the platform tag of a wheel with these files: the newest version of the C library that they need, and the architecture.
tag() { # FILE ...
    local newest
    newest=$("$here/scripts/glibc.sh" "$objdump" "$@")
    echo "manylinux_${newest/./_}_$arch"
}

make() { # FOLDER PLATFORM
    "$pip/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" \
        --config-settings="--build-option=--plat-name=$2" "$1"
}

copy() { # NAME
    cp -r "$here/packages/python/$1" "$work/$1"
    find "$work/$1" -name __pycache__ -prune -exec rm -rf {} +
    echo "$version" >"$work/$1/VERSION"
}

copy plinth
cp "$here/packages/python/README.md" "$work/plinth/"
cp "$licences"/* "$work/plinth/"
install -D -m 755 "$program" "$work/plinth/src/plinth/bin/plinth"
printf 'imageio-ffmpeg>=0.6\nplinth-lavapipe==%s\n' "$version" >"$work/plinth/bundled.txt"
make "$work/plinth" "$(tag "$program")"
for text in "$licences"/*; do
    "$python" -m zipfile -l "$out/plinth-$version"-*.whl | grep -qF "/licenses/$(basename "$text") " ||
        { say "the wheel lacks the licence text $(basename "$text")" >&2; exit 1; }
done

if [[ $arch != "$(uname -m)" ]]; then
    say "the driver of plinth[bundled] for $arch is made on such a machine, not here"
    exit 0
fi
# A machine may also have the driver of another architecture. Newer versions of Mesa have one description for all.
icd=
for file in "/usr/share/vulkan/icd.d/lvp_icd.$arch.json" /usr/share/vulkan/icd.d/lvp_icd.json; do
    if [[ -z $icd && -f $file ]]; then icd=$file; fi
done
if [[ -z $icd ]]; then
    say "this machine has no lavapipe, which plinth[bundled] brings (apt-get install mesa-vulkan-drivers)" >&2
    exit 1
fi
command -v patchelf >/dev/null || { say "patchelf is missing (apt-get install patchelf)" >&2; exit 1; }
copy plinth-lavapipe
lib=$work/plinth-lavapipe/src/plinth_lavapipe/lib
texts=$work/plinth-lavapipe/src/plinth_lavapipe/licences
mkdir -p "$lib" "$texts"
# Reads all of its input: `ldconfig` would fail if awk ended at the first match.
find_library() { ldconfig -p | awk -v name="$1" '!found && $1 == name && /x86-64|AArch64/ { print $NF; found = 1 }'; }
driver=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["ICD"]["library_path"])' "$icd")
[[ $driver == /* ]] || driver=$(find_library "$driver")
loader=$(find_library libvulkan.so.1)
license() { # LIBRARY
    local package file
    file=$(realpath "$1")
    # On systems with a merged /usr, the package may still list the file without the prefix /usr.
    package=$({ dpkg -S "$file" || dpkg -S "${file#/usr}"; } 2>/dev/null | head -n 1 | cut -d: -f1 || true)
    if ! [[ -n $package && -f /usr/share/doc/$package/copyright ]]; then
        say "no licence text is installed for $1" >&2
        exit 1
    fi
    cp -L "/usr/share/doc/$package/copyright" "$texts/$package.txt"
}
# Copies the driver and all libraries that it needs, except for those that every system with this C library has.
{
    echo "$driver"
    ldd "$driver" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
} | sort -u | grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\.so' | while read -r library; do
    cp -L "$library" "$lib/$(basename "$library")"
    license "$library"
done
# The Vulkan loader has its own folder, because that folder is in LD_LIBRARY_PATH, also for the programs that plinth starts, which
# must not find the other libraries there.
install -D -m 644 "$loader" "$lib/loader/libvulkan.so.1"
license "$loader"
strip --strip-unneeded "$lib"/*.so* "$lib"/loader/*
# With this search path, the libraries find each other wherever the wheel is unpacked.
for library in "$lib"/*.so*; do patchelf --set-rpath '$ORIGIN' "$library"; done
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "./%s", "api_version": "1.3.0"}}\n' \
    "$(basename "$driver")" >"$lib/lvp_icd.json"
make "$work/plinth-lavapipe" "$(tag "$lib"/*.so* "$lib"/loader/*)"
packages=()
for text in "$texts"/*.txt; do packages+=("$(basename "$text" .txt)"); done
"$here/scripts/debian_sbom.py" plinth-lavapipe "$version" /var/lib/dpkg/status /etc/os-release "${packages[@]}" \
    >"$out/plinth-lavapipe-$version-$arch.cyclonedx.json"
