#!/usr/bin/env bash
# Installs the missing packages for the given purposes:
#
#   scripts/setup.sh render ...    an ffmpeg that encodes H.264, a Vulkan driver
#   scripts/setup.sh test ...      also ProRes, a software Vulkan driver, PostgreSQL, Chromium, Python with numpy and
#                                  Pillow, the AWS CLI
#   scripts/setup.sh lint ...      rustfmt, clippy
#   scripts/setup.sh dist ...      everything that building packages needs: dpkg-shlibdeps, patchelf, objdump, lavapipe, a Python
#                                  that can create virtual environments
#   scripts/setup.sh arm64 ...     compilers, a linker and an emulator for aarch64, and Rust's library for it
#   scripts/setup.sh faults ...    programs that simulate hosts with network namespaces: ip, nft, unshare, libfaketime
#   scripts/setup.sh python ...    Python with numpy and Pillow
#   scripts/setup.sh venv ...      a Python that can create virtual environments
#
# Compilers are installed for every purpose.
#
# Installs with apt-get (Debian, Ubuntu), and first prints the packages and their size. On other systems, and for users who
# cannot install packages, it prints what is needed. Python packages are installed in a virtual environment in the target
# folder if possible.
set -euo pipefail

PATH="$PATH:/usr/sbin:/sbin" # ldconfig
here=$(cd "$(dirname "$0")" && pwd)
# A relative CARGO_TARGET_DIR is relative to the repository, as for cargo, because this script may be called from another folder.
target=$(cd "$here/.." && realpath -m "${CARGO_TARGET_DIR:-target}")

say() { echo "setup: $*"; }
have() { command -v "$1" >/dev/null 2>&1; }
found() { "$here/find.sh" "$@" >/dev/null 2>&1; }
has_vulkan_loader() { [[ $(ldconfig -p 2>/dev/null || true) == *libvulkan.so.1* ]]; }

has_vulkan_driver() { # NAMES: of descriptions of drivers, as a pattern
    local folder
    for folder in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d; do
        if compgen -G "$folder/$1.json" >/dev/null; then return 0; fi
    done
    [[ -n ${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}} ]]
}

packages=() # packages to install
lacking=()  # descriptions of the packages, for messages
need() { # PACKAGES WORDS
    local words
    for words in "${lacking[@]}"; do if [[ $words == "$2" ]]; then return; fi; done
    # shellcheck disable=SC2206  # words, one a package
    packages+=($1)
    lacking+=("$2")
}

# Checks whether a compiler can compile with a header and link: COMPILER LANGUAGE HEADER.
compiles() {
    local out status=0
    have "$1" || return 1
    out=$(mktemp)
    "$1" -x "$2" - -o "$out" <<<"#include <$3>"$'\n'"int main() { return 0; }" 2>/dev/null || status=1
    rm -f "$out"
    return "$status"
}

need_compilers() {
    if ! compiles cc c stdlib.h; then need "gcc libc6-dev" "a C compiler (cc) with headers"; fi
    if ! compiles c++ c++ vector; then need g++ "a C++ compiler (c++) with headers"; fi
}

need_drawing() { # ENCODERS DRIVER WORDS
    # shellcheck disable=SC2086  # words, one an encoder
    if ! found ffmpeg $1 || ! found ffprobe; then need ffmpeg "ffmpeg with ffprobe and the encoders $1"; fi
    if ! has_vulkan_loader; then need libvulkan1 "the Vulkan loader (libvulkan.so.1)"; fi
    if ! has_vulkan_driver "$2"; then need mesa-vulkan-drivers "$3"; fi
}

# Creates a virtual environment in the target folder if no Python has the packages.
make_python() {
    local base
    if [[ -n ${PLINTH_SETUP_TRIED:-} ]]; then return 1; fi
    base=$("$here/find.sh" venv 2>/dev/null) || return 1
    say "to install with pip into $target/python: numpy and Pillow (about 25 MB to download, 120 MB on disk)"
    rm -rf "$target/python"
    if "$base" -m venv "$target/python" && "$target/python/bin/python" -m pip install --quiet --retries 1 \
        --disable-pip-version-check --requirement "$here/python.txt" && found python; then
        return
    fi
    say "that failed; trying the packages of the system"
    rm -rf "$target/python"
    return 1
}

need_lints() {
    local component
    for component in fmt clippy; do
        if cargo "$component" --version >/dev/null 2>&1; then continue; fi
        say "cargo $component is missing; installing it with rustup (about 10 MB)"
        rustup component add "${component/fmt/rustfmt}" || {
            say "cargo $component is required: rustup component add ${component/fmt/rustfmt}" >&2
            exit 1
        }
    done
}

need_tests() {
    need_drawing "libx264 prores_ks" "*@(lvp|swiftshader)*" "a software Vulkan driver"
    if ! found postgres; then need postgresql "a PostgreSQL server"; fi
    # Tests call the program kill, not the shell builtin.
    if [[ -z $(type -P kill) ]]; then need procps "the program kill"; fi
    need_browser
    need_python
    want_aws
}

# Requires chromedriver only if the system has a package of chromedriver, as Debian has and Ubuntu has not. Without chromedriver, the
# tests in a browser are not run.
need_browser() {
    if have chromedriver || ! have apt-cache; then return; fi
    # A new machine may have no package lists yet.
    if apt-cache show chromium-driver >/dev/null 2>&1 || grep -qx ID=debian /etc/os-release; then
        need "chromium chromium-driver" "Chromium with chromedriver"
    fi
}

# Installs the AWS CLI in a virtual environment in the target folder, because the packages of Debian 12 and Ubuntu 22.04 are too old.
# Without it, one test is not run, so a failure is only reported.
want_aws() {
    local base
    if found aws; then return; fi
    if ! base=$("$here/find.sh" venv 2>/dev/null); then
        if ((${#packages[@]} > 0)); then need_venv; fi
        return
    fi
    say "to install with pip into $target/aws: the AWS CLI (about 20 MB to download, 150 MB on disk)"
    rm -rf "$target/aws"
    if "$base" -m venv "$target/aws" && "$target/aws/bin/python" -m pip install --quiet --retries 1 --timeout 10 \
        --disable-pip-version-check "awscli>=1.29"; then
        return
    fi
    say "that failed; the test that copies a bucket is not run"
    rm -rf "$target/aws"
}

need_hosts() {
    if ! have ip; then need iproute2 "the program ip"; fi
    if ! have nft; then need nftables "the program nft"; fi
    if ! have unshare || ! have nsenter; then need util-linux "the programs unshare and nsenter"; fi
    if ! compgen -G "/usr/lib/*/faketime/libfaketimeMT.so.1" >/dev/null; then need libfaketime "libfaketime"; fi
}

need_venv() {
    if ! found venv; then need "python3 python3-venv" "a Python that can create virtual environments"; fi
}

need_packaging() {
    if ! have dpkg-shlibdeps; then need dpkg-dev "the program dpkg-shlibdeps"; fi
    if ! have patchelf; then need patchelf "the program patchelf"; fi
    if ! have objdump || ! have strip; then need binutils "the programs objdump and strip"; fi
    # The wheel with the driver contains copies of these libraries.
    if ! has_vulkan_loader; then need libvulkan1 "the Vulkan loader (libvulkan.so.1)"; fi
    if ! has_vulkan_driver "*lvp*"; then need mesa-vulkan-drivers "Mesa's software Vulkan driver, lavapipe"; fi
    need_venv
}

need_arm64() {
    if ! have aarch64-linux-gnu-gcc; then need "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" "a C compiler for aarch64"; fi
    if ! have aarch64-linux-gnu-g++; then need g++-aarch64-linux-gnu "a C++ compiler for aarch64"; fi
    if ! have qemu-aarch64-static; then need qemu-user-static "an emulator of aarch64"; fi
    if ! rustc --print target-libdir --target aarch64-unknown-linux-gnu | xargs test -d; then
        say "installing Rust's library for aarch64 with rustup (about 30 MB)"
        rustup target add aarch64-unknown-linux-gnu
    fi
}

need_python() {
    if ! found python && ! make_python; then
        need "python3 python3-numpy python3-pil" "Python with $(sed '/^#/d' "$here/python.txt" | paste -sd' ')"
    fi
}

# Prints the number and size of the packages that apt-get would install.
size() {
    local said count
    said=$("${as_root[@]}" env LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null </dev/null || true)
    count=$(sed -n -e 's/.* \([0-9]*\) newly installed.*/\1/p' -e 's/.*Installing: \([0-9]*\),.*/\1/p' <<<"$said")
    said=$(sed -n -e 's/^Need to get \(.*\) of archives\..*/\1 to download/p' \
        -e 's/^After this operation, \(.*\) of additional .*/\1 on disk/p' \
        -e 's/^ *Download size: *\([0-9.,]* *[kMG]*B\).*/\1 to download/p' \
        -e 's/^ *Space needed: *\([0-9.,]* *[kMG]*B\).*/\1 on disk/p' <<<"$said" | paste -sd, | sed 's/,/, /')
    echo "${count:-some} packages with what they need${said:+: $said}"
}

# Prints the command that an administrator has to run.
ask_for_help() {
    say "$1; ask an administrator to run this command, then try again:" >&2
    say "  apt-get update && apt-get install -y --no-install-recommends ${packages[*]}" >&2
    exit 1
}

install_packages() {
    as_root=()
    if ((EUID != 0)); then
        have sudo || ask_for_help "you are not root, and sudo is not installed"
        # sudo may ask for a password only on a terminal.
        if [[ -t 0 ]]; then sudo -v || ask_for_help "you may not use sudo"; else
            sudo -n true 2>/dev/null || ask_for_help "you may not use sudo without a password"
        fi
        as_root=(sudo)
    fi
    say "updating the package lists"
    # Variables go through env, because sudo drops them otherwise.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
        say "the package lists could not be updated; continuing with the existing ones"
    say "to install with apt-get: ${packages[*]} ($(size "${packages[@]}"))"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o Dpkg::Use-Pty=0 "${packages[@]}" </dev/null
}

if ! have cargo; then
    say "cargo is missing. Install Rust, then run this again:" >&2
    say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
    exit 1
fi
shopt -s extglob
need_compilers
for purpose in "$@"; do
    case $purpose in
        render) need_drawing libx264 "*" "a Vulkan driver" ;;
        test) need_tests ;;
        lint) need_lints ;;
        faults) need_hosts ;;
        python) need_python ;;
        venv) need_venv ;;
        dist) need_packaging ;;
        arm64) need_arm64 ;;
        *)
            say "unknown purpose '$purpose'; use render, test, lint, dist, arm64, faults, python or venv" >&2
            exit 2
            ;;
    esac
done
# The packages that this script has already installed, before it ran itself again.
tried=${PLINTH_SETUP_TRIED:-}
if ((${#packages[@]} == 0)); then
    if [[ -n $tried ]]; then say "installed"; else say "nothing to install"; fi
    exit 0
fi
printf 'setup: missing: %s\n' "${lacking[@]}"
# Systems that are derived from Debian may turn out to have a package of chromedriver only after their lists were updated.
untried=()
for package in "${packages[@]}"; do
    if [[ " $tried " != *" $package "* ]]; then untried+=("$package"); fi
done
if ((${#untried[@]} == 0)); then
    say "this is missing although its packages are installed; please find out why, or install it in another way" >&2
    exit 1
fi
if ! have apt-get; then
    # On such a system, Vulkan drivers may be in folders that this script does not search, so a missing driver is no failure.
    # `plinth doctor` reports it.
    if ! printf '%s\n' "${lacking[@]}" | grep -qv Vulkan; then exit 0; fi
    say "this system has no apt-get; please install the above with its own package manager, then try again" >&2
    exit 1
fi
install_packages
PLINTH_SETUP_TRIED="$tried ${packages[*]}" exec "$0" "$@"
