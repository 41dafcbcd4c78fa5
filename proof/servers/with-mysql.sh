#!/usr/bin/env bash
# Runs a command beside a private MySQL server out of a folder that mysql-from-sid.sh filled, with
# REFRAIN_TEST_MYSQL set. Needs root and the user mysql.
# Usage: with-mysql.sh FOLDER go test ./mysql
set -euo pipefail
root=$(cd "${1:?the folder of mysql-from-sid.sh}" && pwd)
shift
dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # in memory: MySQL syncs every new table
chown mysql "$dir"
loader=$(echo "$root"/usr/lib/*/ld-linux-*.so.*)
port=${REFRAIN_MYSQL_PORT:-13306}
server=("$loader" --library-path "$(dirname "$loader"):$root/usr/lib/mysql/private" "$root/usr/sbin/mysqld"
	--no-defaults --user=mysql --basedir="$root/usr" --datadir="$dir/data" --secure-file-priv= --mysqlx=OFF
	--lc-messages-dir="$root/usr/share/mysql" --socket="$dir/socket" --pid-file="$dir/pid"
	--bind-address=127.0.0.1 --port="$port" --log-error="$dir/log" --max-connections=200
	--max-allowed-packet=16M) # MariaDB's default: the tests answer with results of that size
"${server[@]}" --initialize-insecure
echo 'CREATE DATABASE IF NOT EXISTS test;' >"$dir/init"
chmod 0644 "$dir/init"
"${server[@]}" --init-file="$dir/init" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" || true; rm -rf "$dir"' EXIT
for _ in $(seq 300); do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		REFRAIN_TEST_MYSQL="root@tcp(127.0.0.1:$port)/test" "$@"
		exit
	fi
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.1
done
cat "$dir/log" >&2
exit 1
