#!/usr/bin/env bash
# Tests that the packages work on bare machines: new Debian root file systems without a compiler, in which only the package is
# installed.
#
#   scripts/bare.sh [deb] [wheel] [image]    default: the packages that are in dist/
#
#   deb      installs an older version with apt-get, runs the session of the README with plinth serve, and upgrades meanwhile. The
#            new version must still have the render of the old version and must draw another render; plinth render must work;
#            removing the package must keep the data
#   wheel    on a system with only Python, installs `plinth`, whose `plinth doctor` must tell what is missing; then installs
#            `plinth[bundled]` and renders
#   image    runs the session of the README in the image under runc, without privileges and with a read-only root file system
#
# Needs root and mmdebstrap; for the image also runc, umoci and skopeo. Each file system is removed after its test has passed.
#   PREVIOUS_DEB    the older version (default: the package of dist/ with a lower version)
#   SUITE    the version of Debian for deb and wheel: trixie (13, default), bookworm (12)
#   WORK     a folder for file systems, in which the videos are kept (default: a new folder in /var/tmp, which is removed)
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

say() { echo "bare: $*"; }
suite=${SUITE:-trixie}
work=${WORK:-$(mktemp -d /var/tmp/plinth-bare-XXXXXX)}
mkdir -p "$work"
model=fixtures/models/flight_helmet.glb
port=18098

# `took` prints the elapsed time and the processor time since `begin`, in seconds. On a busy machine only the processor time can
# be compared.
begin() { began=$SECONDS spent=$(processors); }
took() { echo "$((SECONDS - began)) s, $(($(processors) - spent)) s of processors"; }
# Prints the processor time of all ended processes of this script, in seconds.
processors() { sed 's/.*) //' "/proc/$$/stat" | awk -v ticks="$(getconf CLK_TCK)" '{ printf "%d", ($14 + $15) / ticks }'; }

# Sets `enter` to a command line that runs a command in a root file system, in separate process and mount namespaces, which end
# with it.
enter=()
set_enter() { # ROOT COMMAND [ARGUMENT ...]
    local root=$1 variable kept=()
    shift
    while IFS= read -r -d '' variable; do
        case ${variable%%=*} in *_proxy | *_PROXY | PIP_INDEX_URL | PIP_CERT | SSL_CERT_* | *_CA_BUNDLE) kept+=("$variable") ;; esac
    done < <(env -0)
    # shellcheck disable=SC2016  # the inner shell expands the quoted text
    enter=(unshare --mount --pid --fork --kill-child bash -c '
        set -e
        mount --make-rprivate /
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"' \
        "$root" "${kept[@]}" "$@")
}

inside() { # ROOT COMMAND [ARGUMENT ...]
    set_enter "$@"
    "${enter[@]}" </dev/null
}

# Checks that a folder contains the licence texts of everything that is linked into the program.
has_licences() { # FOLDER
    local text
    for text in LICENSE-MIT LICENSE-APACHE THIRD-PARTY.txt hls.js-LICENSE; do
        [[ -s $1/$text ]] || { say "$1 lacks $text" >&2; exit 1; }
    done
}

# Makes a root file system with the given packages, as a copy of a base system that is made only once and contains certificates.
make_root() { # NAME [PACKAGE ...]
    local root=$work/$1 base=$work/$suite
    shift
    rm -rf --one-file-system "$root"
    if ! [[ -d $base ]]; then
        scripts/rootfs.sh "$suite" "$base" ca-certificates
        cp -L /etc/resolv.conf "$base/etc/resolv.conf"
        # This machine may need its own certificates to reach archives.
        cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
        inside "$base" apt-get update -qq
    fi
    cp -a --reflink=auto "$base" "$root"
    if (($# > 0)); then inside "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >"$root.log" 2>&1; fi
    if inside "$root" sh -c 'command -v cc || command -v gcc' >/dev/null; then say "$root has a compiler" >&2; exit 1; fi
    echo "$root"
}

is_video() { # FILE
    [[ $(ffprobe -v error -count_frames -select_streams v -show_entries stream=codec_name,nb_read_frames -of csv=p=0 "$1") =~ ^h264,[1-9] ]]
}

url=http://127.0.0.1:$port/v1
api() { curl -sS -f -H "Authorization: Bearer $key" "$@"; } # with the key in `key`

# Runs the session of the README against a server on this machine. OUTPUT-FILE contains the server's first output; the video is
# written to VIDEO. Sets `key` and `render`.
session() { # OUTPUT-FILE VIDEO
    local begin=$SECONDS
    until grep -q plinth_sk_ "$1" 2>/dev/null; do
        ((SECONDS - begin < 60)) || { say "the server does not start:" >&2; cat "$1" >&2; exit 1; }
        sleep 0.2
    done
    key=$(grep -o 'plinth_sk_[A-Za-z0-9]*' "$1" | head -n 1)
    order "$2"
}

# Uploads the model, waits for its render and downloads the video. Sets `render`.
order() { # VIDEO
    local begin=$SECONDS
    render=$(api -F file=@$model -F 'renderSettings={"quality":"share","length":2}' $url/models | sed 's/.*"renderId":"\([^"]*\)".*/\1/')
    until api "$url/renders/$render" | grep -qE '"status":"(done|error)"'; do
        ((SECONDS - begin < 240)) || { say "the render does not end" >&2; exit 1; }
        sleep 1
    done
    api -o "$1" "$url/renders/$render/video"
    is_video "$1"
}

# Makes the package that is installed before the upgrade: PREVIOUS_DEB, or the given package with a lower version number.
make_previous() { # PACKAGE OUTPUT
    if [[ -n ${PREVIOUS_DEB:-} ]]; then
        cp "$PREVIOUS_DEB" "$2"
        return
    fi
    dpkg-deb -R "$1" "$work/previous"
    sed -i 's/^Version: .*/Version: 0.0.1-1/' "$work/previous/DEBIAN/control"
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/previous" "$2" >/dev/null
    rm -rf "$work/previous"
}

# Starts the server with the user and the configuration of the systemd unit. Sets `server`.
serve_deb() { # ROOT
    : >"$work/deb-serve.out"
    set_enter "$1" setpriv --reuid plinth --regid plinth --init-groups env HOME=/var/lib/plinth \
        plinth serve --config /etc/plinth/plinth.toml --listen 127.0.0.1:$port
    "${enter[@]}" </dev/null >"$work/deb-serve.out" 2>>"$work/deb.log" &
    server=$!
}

end_deb() {
    # The signal goes to the child of unshare, because unshare itself ignores it.
    kill "$(pgrep -P "$server")"
    wait "$server" 2>/dev/null || true
}

try_deb() {
    local package root server key render old begin
    package=$(realpath dist/plinth_*.deb)
    root=$(make_root deb)
    install_deb() { # PACKAGE
        inside "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o Dpkg::Options::=--force-confold "/root/$1" >>"$work/deb.log" 2>&1
    }
    installed() { inside "$root" dpkg-query -W -f '${Version}' plinth; }
    cp "$package" "$root/root/plinth.deb"
    make_previous "$package" "$root/root/previous.deb"
    cp $model "$root/root/"
    : >"$work/deb.log"
    install_deb previous.deb
    say "deb: $(installed) installed after $(took)"
    # Only members of the group `video` may use a graphics card on some systems.
    [[ " $(inside "$root" id -nG plinth) " == *" video "* ]]
    serve_deb "$root"
    session "$work/deb-serve.out" "$work/deb-session.mp4"
    old=$render
    echo '# mine' >>"$root/etc/plinth/plinth.toml"
    # Upgrades the package while the server runs. The server continues with the files that it has opened.
    install_deb plinth.deb
    [[ $(installed) == "$(dpkg-deb -f "$package" Version)" && $(installed) != "$(dpkg-deb -f "$root/root/previous.deb" Version)" ]]
    api -o /dev/null "$url/renders/$old"
    end_deb
    has_licences "$root/usr/share/doc/plinth/licences"
    tail -n 1 "$root/etc/plinth/plinth.toml" | grep -q '^# mine$'
    inside "$root" sh -c 'plinth --version && plinth doctor && cd /root && plinth render flight_helmet.glb -o a.mp4 --quality share --length 1 -q' \
        >>"$work/deb.log" 2>&1
    mv "$root/root/a.mp4" "$work/deb.mp4"
    is_video "$work/deb.mp4"
    # The new version must know the account and its key, serve the render of the old version, and draw a new one.
    serve_deb "$root"
    begin=$SECONDS
    until api -o "$work/deb-again.mp4" "$url/renders/$old/video" 2>>"$work/deb.log"; do
        ((SECONDS - begin < 60)) || { say "the new version does not have the render of the old one" >&2; exit 1; }
        sleep 0.2
    done
    cmp "$work/deb-session.mp4" "$work/deb-again.mp4"
    order "$work/deb-order.mp4"
    end_deb
    [[ $render != "$old" && -s $root/var/lib/plinth/plinth.db ]]
    inside "$root" sh -c 'apt-get purge -y -qq plinth' >>"$work/deb.log" 2>&1
    [[ -s $root/var/lib/plinth/plinth.db && ! -e $root/usr/bin/plinth ]]
    say "deb: renders, serves the README's session, keeps render, account and configuration over an upgrade: $(took)"
    rm -rf --one-file-system "$root"
}

try_wheel() {
    local root
    root=$(make_root wheel python3 python3-venv)
    mkdir "$root/root/dist"
    cp dist/*.whl "$root/root/dist/"
    cp $model "$root/root/"
    for file in .config/pip/pip.conf .pip/pip.conf; do
        if [[ -f $HOME/$file ]]; then install -D "$HOME/$file" "$root/root/$file"; fi
    done
    if inside "$root" sh -c 'command -v ffmpeg || ls /usr/share/vulkan/icd.d/*' >/dev/null 2>&1; then say "the machine is not bare" >&2; exit 1; fi
    inside "$root" sh -c 'cd /root && python3 -m venv v && v/bin/pip install --quiet --no-index --find-links dist plinth' >"$work/wheel.log" 2>&1
    # Without ffmpeg and a driver, the program must start and tell what is missing.
    if inside "$root" /root/v/bin/plinth doctor >"$work/wheel-doctor.log" 2>&1; then say "the machine is not bare" >&2; exit 1; fi
    grep -q 'mesa-vulkan-drivers' "$work/wheel-doctor.log"
    grep -q 'apt-get install ffmpeg' "$work/wheel-doctor.log"
    inside "$root" sh -c 'cd /root && v/bin/pip install --quiet --find-links dist "$(echo dist/plinth-*.whl)[bundled]"' >>"$work/wheel.log" 2>&1
    say "wheel: installed after $(took)"
    has_licences "$(echo "$root"/root/v/lib/python3*/site-packages/plinth-*.dist-info/licenses)"
    inside "$root" sh -c 'cd /root && v/bin/plinth doctor && v/bin/plinth render flight_helmet.glb -o a.mp4 --quality share --length 1 -q' >>"$work/wheel.log" 2>&1
    mv "$root/root/a.mp4" "$work/wheel.mp4"
    is_video "$work/wheel.mp4"
    say "wheel: with Python alone, installs and renders: $(took)"
    rm -rf --one-file-system "$root"
}

try_image() {
    local image name=plinth-bare-$$ bundle=$work/bundle server key render
    image=$(realpath dist/plinth-*-image.tar.gz)
    rm -rf --one-file-system "$bundle" "$work/oci"
    gzip -dc "$image" >"$work/image.tar"
    skopeo copy --quiet --dest-compress-level 1 "docker-archive:$work/image.tar" "oci:$work/oci:plinth"
    rm "$work/image.tar"
    umoci unpack --image "$work/oci:plinth" "$bundle" >"$work/image.log" 2>&1
    python3 - "$bundle/config.json" "$port" <<'PYTHON'
import json, sys
path, port = sys.argv[1:]
config = json.load(open(path))
process = config["process"]
assert process["user"]["uid"] != 0, "the image runs as root"
process["env"].append(f"PLINTH_LISTEN=127.0.0.1:{port}")
process["terminal"] = False
process["noNewPrivileges"] = True
process["capabilities"] = {}
config["root"]["readonly"] = True
# The mounts that a container runtime would make for volumes. The container shares the network of this machine, so that the session
# reaches the server.
places = ("/tmp", "/var/lib/plinth", "/var/cache/plinth")
config["mounts"] = [mount for mount in config["mounts"] if mount["destination"] not in places]
for place in places:
    options = ["nosuid", "nodev", "mode=0700", "uid=10001", "gid=10001", "size=4g"]
    config["mounts"].append({"destination": place, "type": "tmpfs", "source": "tmpfs", "options": options})
config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] not in ("network", "cgroup")]
config["mounts"] = [m for m in config["mounts"] if m["destination"] != "/sys/fs/cgroup"]
config["linux"].pop("resources", None)
json.dump(config, open(path, "w"))
PYTHON
    say "image: unpacked after $(took)"
    has_licences "$bundle/rootfs/usr/share/doc/plinth/licences"
    trap 'runc delete --force "$name" 2>/dev/null; say "image: FAILED; what was said is in $work" >&2' EXIT
    runc run --bundle "$bundle" "$name" >"$work/image-serve.out" 2>>"$work/image.log" &
    server=$!
    session "$work/image-serve.out" "$work/image-session.mp4"
    if runc exec "$name" sh -c 'touch /usr/bin/x' 2>/dev/null; then say "the root file system can be written" >&2; exit 1; fi
    [[ $(runc exec "$name" id -u) != 0 ]]
    runc exec --env PLINTH_LISTEN=127.0.0.1:$port "$name" /usr/local/bin/plinth-healthcheck
    runc kill "$name" TERM
    wait "$server"
    trap - EXIT
    say "image: under runc, read-only, without privileges, serves the README's session and stops well: $(took)"
    rm -rf --one-file-system "$bundle" "$work/oci"
}

parts=("$@")
if ((${#parts[@]} == 0)); then
    compgen -G 'dist/plinth_*.deb' >/dev/null && parts+=(deb)
    compgen -G 'dist/plinth-*.whl' >/dev/null && parts+=(wheel)
    compgen -G 'dist/plinth-*-image.tar.gz' >/dev/null && parts+=(image)
fi
((${#parts[@]} > 0)) || { say "dist/ is empty; run make dist" >&2; exit 1; }
# SHA256SUMS must contain the checksum of each file in dist/.
(cd dist && sha256sum --quiet --strict --check SHA256SUMS && [[ $(wc -l <SHA256SUMS) == $(find . -type f ! -name SHA256SUMS | wc -l) ]]) ||
    { say "dist/SHA256SUMS does not fit the files in dist/" >&2; exit 1; }
# The functions are not called in a condition, because bash would ignore `set -e` there and continue after a failure.
part=
trap 'if [[ -n $part ]]; then say "$part: FAILED; what was said is in $work" >&2; fi' EXIT
for part in "${parts[@]}"; do
    begin
    "try_$part"
done
part=
if [[ -z ${WORK:-} ]]; then rm -rf --one-file-system "$work"; fi
