#!/usr/bin/env bash
# Unpacks Debian unstable's MySQL server with its own libraries into a folder, so that a machine whose
# Debian has MariaDB alone can run it: nothing is installed. The mirror is the one apt already uses.
# Usage: mysql-from-sid.sh FOLDER, then REFRAIN_MYSQL_ROOT=FOLDER go test ./servers -run MySQL
set -euo pipefail
root=${1:?the folder to unpack into}
mkdir -p "$root"
root=$(cd "$root" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	awk 'match($0, /https?:\/\/[^ ]*\/debian\/?( |$)/) && !found++ { url = substr($0, RSTART, RLENGTH); sub(/ $/, "", url); print url }' || true)
: "${mirror:?no Debian mirror in the sources of apt}"
mkdir -p "$work"/{lists/partial,cache/archives/partial,etc}
: >"$work/status" # as if nothing were installed: every library comes along
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/etc/sources.list"
apt=(apt-get -qq
	-o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache"
	-o Dir::Etc::sourcelist="$work/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null
	-o APT::Sandbox::User=root -o APT::Install-Recommends=false -o Acquire::Languages=none)
"${apt[@]}" update
"${apt[@]}" -o Dir::Cache::archives="$work/cache/archives" -y --download-only install mysql-server-core
for deb in "$work"/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --no-same-owner
done
find "$root" -name mysqld -type f
