#!/bin/sh
# Prepares the root file system of the image, after its packages are installed: the user, its folders, and what a container
# does not need.
set -e

groupadd --gid 10001 plinth-image
useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin plinth-image
# Volumes that are not mounted begin with these owners.
install -d -o 10001 -g 10001 -m 0755 /var/lib/plinth /var/cache/plinth
chown -R 10001:10001 /var/lib/plinth /var/cache/plinth
# The configuration of an image is its variables.
rm -rf /etc/plinth /usr/lib/systemd/system/plinth*.service
# No program may gain rights.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# Speech synthesis, a filter of ffmpeg that nothing here uses, loads when ffmpeg starts and so stays; logs and caches go.
rm -rf /var/cache/apt/* /var/cache/debconf/* /var/log/*.log /var/log/apt /usr/share/man /usr/share/bash-completion \
    /usr/share/fish /usr/share/zsh
# Images leave out documents, but for the licences of what they hold.
test -s /usr/share/doc/plinth/licences/THIRD-PARTY.txt
