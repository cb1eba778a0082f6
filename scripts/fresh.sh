#!/usr/bin/env bash
# Tests that a clean clone works on a fresh machine: runs `make demo` and `make test` in new root file systems that have only
# git, make, curl, a C compiler and Rust.
#
#   scripts/fresh.sh [SYSTEM ...]    bookworm (Debian 12), trixie (Debian 13), noble (Ubuntu 24.04); default: all three
#
# Each system is tested as root, as a user with sudo, and as a user without sudo. Without sudo, the commands must print the
# command that an administrator has to run, and must work after it was run. The run as root starts without built or
# downloaded files. The other users have new file systems, too, but reuse root's build results and cargo's downloads to save
# time.
#
# Needs root, mmdebstrap, unshare, and the keys of the systems' archives. This machine's Rust toolchain is used, mounted
# read-only. Only committed changes are tested. Environment:
#   USERS   some of: root sudo plain (default: all, in this order)
#   COMMANDS    some of: demo test (default: both)
#   WORK    a folder for file systems, some 20 GB (default: a new one in /var/tmp)
#   LOGS    a folder for logs (default: WORK/logs)
#   BUILT   yes: all users reuse this machine's target folder, which must match the commit. Then only installing and running are
#           tested, and the systems must not be older than this machine's
#   DEBIAN_MIRROR, UBUNTU_MIRROR    archives (default: the one this machine uses, or the official one)
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
read -r -a users <<<"${USERS:-root sudo plain}"
systems=("$@")
if (($# == 0)); then systems=(bookworm trixie noble); fi
work=${WORK:-$(mktemp -d /var/tmp/plinth-fresh-XXXXXX)}
logs=${LOGS:-$work/logs}
mkdir -p "$work" "$logs"
table=$logs/table.txt
failed=no
toolchain=$(rustc --print sysroot)
commit=$(git -C "$repository" rev-parse HEAD)
# Clones and cargo's downloads have the same paths as on this machine, so that cargo reuses build results.
cargo_home=${CARGO_HOME:-$HOME/.cargo}

say() { echo "fresh: $*"; }
((EUID == 0)) || { say "only root can make root file systems" >&2; exit 1; }
for program in mmdebstrap unshare curl; do
    command -v "$program" >/dev/null || { say "$program is missing" >&2; exit 1; }
done
if [[ -n $(git -C "$repository" status --porcelain) ]]; then say "uncommitted changes are not tested"; fi

row() { printf '%-9s %-6s %-18s %-34s %7s %9s %8s %8s\n' "$@" | tee -a "$table"; }

# ---- file systems ---------------------------------------------------------------------------------------------------

# Prints the settings that apt-get needs on this machine to reach an archive: proxies, certificates, retries, and checks of
# validity dates.
apt_settings() { apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|CaInfo)|^Acquire::(Check-|Retries|ForceIPv)' || true; }

debian_mirror() {
    local own
    # shellcheck disable=SC2016  # apt-get's variable
    own=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed -n '\%/debian/*$%{s%/*$%%p;q}')
    echo "${DEBIAN_MIRROR:-${own:-http://deb.debian.org/debian}}"
}

# Prints lines for sources.list, or nothing if the archive is not reachable.
sources() { # SYSTEM
    local mirror
    case $1 in
        noble)
            mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
            curl -sfIL --max-time 20 -o /dev/null "$mirror/dists/$1/Release" || return 0
            mirror="[signed-by=$(ubuntu_keys)] $mirror"
            printf 'deb %s %s main universe\n' "$mirror" "$1" "$mirror" "$1-updates" "$mirror" "$1-security"
            ;;
        *)
            mirror=$(debian_mirror)
            curl -sfIL --max-time 20 -o /dev/null "$mirror/dists/$1/Release" || return 0
            printf 'deb %s %s main\n' "$mirror" "$1" "$mirror" "$1-updates" "${mirror%/debian*}/debian-security" "$1-security"
            ;;
    esac
}

# Prints the path of Ubuntu's archive keys. If this machine does not have them, downloads the package of Debian 13 that contains
# them.
ubuntu_keys() {
    local own=/usr/share/keyrings/ubuntu-archive-keyring.gpg place=$work/keys options
    if [[ ! -f $own ]]; then
        own=$place/usr/share/keyrings/ubuntu-archive-keyring.gpg
        mkdir -p "$place/lists/partial" "$place/archives/partial"
        : >"$place/status"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) trixie main" >"$place/list"
        options=(-qq -o "Dir::Etc::SourceList=$place/list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$place/lists"
            -o "Dir::State::Status=$place/status" -o "Dir::Cache=$place")
        (cd "$place" && apt-get "${options[@]}" update && apt-get "${options[@]}" download ubuntu-keyring &&
            dpkg-deb -x ubuntu-keyring_*.deb .) >&2
    fi
    echo "$own"
}

make_base() { # SYSTEM: a tar file with what was there before
    local list
    list=$(sources "$1")
    if [[ -z $list ]]; then
        say "$1: the archive is not reachable"
        return 1
    fi
    apt_settings >"$work/apt.conf"
    say "$1: making a root file system from $(head -n 1 <<<"$list" | grep -o 'http[^ ]*')"
    if ! mmdebstrap --variant=minbase --mode=root --include=apt,ca-certificates,curl,gcc,git,libc6-dev,make \
        --aptopt="$work/apt.conf" "$1" "$work/$1.tar" - <<<"$list" >"$logs/$1-base.log" 2>&1; then
        say "$1: that failed, see $logs/$1-base.log"
        return 1
    fi
}

# The name of the account for each kind of user.
declare -A names=([root]=root [sudo]=maker [plain]=guest)
home() { if [[ $1 == root ]]; then echo /root; else echo "/home/${names[$1]}"; fi; }

make_machine() { # SYSTEM USER: a root file system with a clone of the repository
    local system=$1 user=$2 root=$work/$1-$2 name=${names[$2]} clone=$work/$1-$2$repository file
    rm -rf --one-file-system "$root"
    mkdir "$root"
    tar -xf "$work/$system.tar" -C "$root"
    # Removes the paths of this machine's keys, which do not exist in the new system. The system has its own keys.
    find "$root/etc/apt" -name '*.list' -exec sed -i 's/\[signed-by=[^]]*\] //' {} +
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(hostname)" >"$root/etc/hosts"
    # Registries may be accessible only with this machine's certificates.
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    if [[ $user != root ]]; then inside "$root" root "useradd --create-home --shell /bin/bash $name" >/dev/null; fi
    if [[ $user == sudo ]]; then
        inside "$root" root "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends sudo" \
            >"$logs/$system-$user-sudo.log" 2>&1
        echo "$name ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$name"
    fi
    mkdir -p "$root/opt/rust" "$root$(home "$user")/.cargo"
    # As just after an installation with rustup, the programs are in ~/.cargo/bin, which is not on the PATH of open shells.
    ln -s /opt/rust/bin "$root$(home "$user")/.cargo/bin"
    for file in .config/pip/pip.conf .pip/pip.conf; do
        if [[ -f $HOME/$file ]]; then install -D "$HOME/$file" "$root$(home "$user")/$file"; fi
    done
    git clone --quiet "file://$repository" "$clone"
    git -C "$clone" reset --quiet --hard "$commit"
    # All clones have the same modification times, so that cargo reuses the build results of another user.
    git -C "$clone" ls-files -z | (cd "$clone" && xargs -0 touch --no-dereference --date=2020-01-01)
    mkdir -p "$root$cargo_home"
    if [[ -f $cargo_home/config.toml ]]; then cp "$cargo_home/config.toml" "$root$cargo_home"; fi
    if [[ -d $work/$system-target ]]; then
        mv "$work/$system-target" "$clone/target"
        mv "$work/$system-cargo" "$root$cargo_home/registry"
    elif [[ ${BUILT:-} == yes ]]; then
        mkdir "$clone/target"
        # What only speeds up the next compilation can take more space than all the rest.
        tar -C "${CARGO_TARGET_DIR:-$repository/target}" --exclude=./python --exclude=./*/incremental -cf - . |
            tar -C "$clone/target" -xf -
        cp -a "$cargo_home/registry" "$root$cargo_home/registry"
    fi
    # The user must be able to enter the parent folders.
    if [[ $name != root ]]; then chmod a+x "$root/root"; fi
    inside "$root" root "chown -R $name: $repository $cargo_home ~$name"
}

# Runs a command in a root file system, in separate process and mount namespaces.
inside() { # ROOT USER COMMAND
    local root=$1 name=${names[$2]} variable kept=()
    kept=("HOME=$(home "$2")" "USER=$name" "CARGO_HOME=$cargo_home" "LOGNAME=$name" "LANG=C.UTF-8" "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    while IFS= read -r -d '' variable; do
        case ${variable%%=*} in
            *_proxy | *_PROXY | CARGO_HTTP_* | CARGO_NET_* | CARGO_REGISTR* | CARGO_SOURCE_* | PIP_INDEX_URL | PIP_CERT | \
                SSL_CERT_* | *_CA_BUNDLE | OPENBLAS_*) kept+=("$variable") ;;
        esac
    done < <(env -0)
    # shellcheck disable=SC2016  # the inner shell expands the quoted text
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        root=$1 toolchain=$2 name=$3 command=$4 place=$5
        shift 5
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        if [[ -d $root/opt/rust ]]; then
            mount --bind "$toolchain" "$root/opt/rust"
            mount -o remount,bind,ro "$root/opt/rust"
        fi
        chroot --userspec="$name" --groups="$(chroot "$root" id -G "$name" | tr " " ,)" "$root" env -i "$@" \
            bash -c "if [[ -d $place ]]; then cd $place; fi; $command" </dev/null
    ' bash "$root" "$toolchain" "$name" "$3" "$repository" "${kept[@]}"
}

# ---- tests --------------------------------------------------------------------------------------------------

megabytes() { if [[ -e $1 ]]; then du -sxm "$@" 2>/dev/null | awk 'END { print $1 }'; else echo 0; fi; }

# Runs a command and prints its row in the table. If GOOD is 0, the command must work; otherwise it must fail and print a
# command for the administrator.
try() { # SYSTEM USER WORDS LOG GOOD COMMAND
    local system=$1 user=$2 words=$3 log=$4 good=$5 command=$6 root=$work/$1-$2 status=0 result seconds processor
    say "$system, $user: $words"
    TIMEFORMAT='%R %U %S'
    { time inside "$root" "$user" "$command" >"$log" 2>&1 || status=$?; } 2>"$work/time"
    read -r seconds processor < <(awk 'END { printf "%.0f %.0f\n", $1, $2 + $3 }' "$work/time")
    if ((good == 0)); then
        result=$(sed -n 's/^tests: //p' "$log" | tail -n 1)
        if ((status == 0)); then result=${result:-works}; else result="FAILED ($status) $result"; fi
    elif ((status != 0)) && grep -q 'apt-get install' "$log"; then
        result="prints what to ask for"
    else
        result="FAILED (not rejected)"
    fi
    if [[ $result == FAILED* ]]; then failed=yes; fi
    row "$system" "$user" "$words" "$result" "$seconds" "$processor" \
        "$(($(megabytes "$root") - $(megabytes "$root$repository/target")))" "$(megabytes "$root$repository/target")"
    tail -n 3 "$log" | sed 's/^/    /'
    [[ $result != FAILED* ]]
}

# Runs, as root, the command that a user without sudo was told to ask an administrator for.
as_told() { # SYSTEM LOG
    local told
    told=$(grep -E '^setup:   apt-get update' "$2" | sed 's/^setup: *//')
    say "$1: the administrator runs: $told"
    inside "$work/$1-plain" root "export DEBIAN_FRONTEND=noninteractive; $told" >"${2%.log}-administrator.log" 2>&1
}

try_user() { # SYSTEM USER
    local system=$1 user=$2 command log
    make_machine "$system" "$user"
    for command in ${COMMANDS:-demo test}; do
        log=$logs/$system-$user-$command
        if [[ $user == plain ]]; then
            try "$system" "$user" "make $command, before" "$log-before.log" 1 "make $command" || return 0
            as_told "$system" "$log-before.log"
        fi
        try "$system" "$user" "make $command" "$log.log" 0 "make $command" || return 0
        if [[ $command == demo ]] && ! [[ -s $work/$system-$user$repository/demo-output/helmet.mp4 ]]; then
            say "$system, $user: there is no video"
            failed=yes
        fi
    done
}

# Passes build results and downloads to the next user, but not the Python packages that the tests installed.
hand_on() { # SYSTEM USER
    local root=$work/$1-$2
    rm -rf "$work/$1-target" "$work/$1-cargo" "$root$repository/target/python"
    if [[ -d $root$repository/target ]]; then
        mv "$root$repository/target" "$work/$1-target"
        mv "$root$cargo_home/registry" "$work/$1-cargo"
    fi
    rm -rf --one-file-system "$root"
}

# The main part is a function, so that bash reads the whole script before it runs it, and the script may be edited meanwhile.
main() {
    local system user
    echo "$(git -C "$repository" log -1 --format='%h %s' "$commit"); $(nproc) cores, $(rustc --version)" | tee "$table"
    row system user command result seconds processor system-MB target-MB
    for system in "${systems[@]}"; do
        if ! make_base "$system"; then
            row "$system" - - "not tried" - - - -
            # An unreachable archive is not an error of the project.
            if [[ $system != noble ]]; then failed=yes; fi
            continue
        fi
        for user in "${users[@]}"; do
            try_user "$system" "$user"
            hand_on "$system" "$user"
        done
        rm -rf "$work/$system.tar" "$work/$system-target" "$work/$system-cargo"
    done
    echo
    cat "$table"
    say "the logs are in $logs"
    if [[ $failed == yes ]]; then
        say "some commands failed" >&2
        exit 1
    fi
}

main
exit
