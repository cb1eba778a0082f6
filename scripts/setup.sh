#!/usr/bin/env bash
# Installs what Plinth needs beside Rust: ffmpeg, a Vulkan driver, a C and C++ compiler; for tests, PostgreSQL and Python.
# Only what is missing, and only with apt-get (Debian, Ubuntu); elsewhere it says what is needed.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin" # ldconfig

say() { echo "setup: $*"; }
have() { command -v "$1" >/dev/null 2>&1; }

has_vulkan_loader() {
    local known
    known=$(ldconfig -p 2>/dev/null || true)
    [[ $known == *libvulkan.so.1* ]]
}

has_vulkan_driver() {
    local folder
    for folder in /usr/share/vulkan/icd.d /etc/vulkan/icd.d; do
        if compgen -G "$folder/*.json" >/dev/null; then return 0; fi
    done
    [[ -n ${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}} ]]
}

if ! have cargo; then
    say "cargo is missing. Install Rust, then run this again:" >&2
    say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
    exit 1
fi

packages=()
lacking=()
need() { # PACKAGES WORDS
    # shellcheck disable=SC2206  # words, one a package
    packages+=($1)
    lacking+=("$2")
}
if ! have ffmpeg || ! have ffprobe; then need ffmpeg "ffmpeg with ffprobe"; fi
if ! has_vulkan_loader; then need libvulkan1 "the Vulkan loader (libvulkan.so.1)"; fi
if ! has_vulkan_driver; then need mesa-vulkan-drivers "a Vulkan driver"; fi
if ! have cc; then need gcc "a C compiler (cc)"; fi
if ! have initdb && ! compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null; then
    need postgresql "PostgreSQL, for tests"
fi
if ! python3 -c 'import numpy, PIL' >/dev/null 2>&1; then
    need "python3-numpy python3-pil" "Python with numpy and pillow, for tests"
fi
if ! have c++; then need g++ "a C++ compiler (c++)"; fi

if ((${#packages[@]} == 0)); then
    say "nothing to install"
    exit 0
fi
for words in "${lacking[@]}"; do say "missing: $words"; done

if ! have apt-get; then
    say "this system has no apt-get; please install the above with its own package manager"
    # Drivers may live elsewhere on such a system (plinth doctor tells); the commands must be there.
    for command in ffmpeg ffprobe cc c++; do
        if ! have "$command"; then
            say "cannot go on without $command" >&2
            exit 1
        fi
    done
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    if ! have sudo; then
        say "neither root nor sudo; as root, run: apt-get install ${packages[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
# The variable goes through env, because sudo drops it otherwise. libc6-dev: headers, which gcc only recommends.
case " ${packages[*]} " in *" gcc "* | *" g++ "*) packages+=(libc6-dev) ;; esac
say "installing ${packages[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
say "done"
