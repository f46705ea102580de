#!/usr/bin/env bash
# Runs a command with a private PostgreSQL, Redis and S3 server beside it, and stops them whatever becomes of
# the command: success, failure, Ctrl-C, or the death of this script.
#
#   with-servers.sh [--durable] [--interactive] COMMAND [ARGUMENT…]
#
#   --durable      PostgreSQL flushes every commit to disk, as in production (for measurements);
#                  without it durability is off, which changes no answer and saves minutes
#   --interactive  the command reads the terminal
#
# The command sees
#   QUIPU_TEST_POSTGRES  postgres:// URL of a superuser, who makes one database for each test
#   QUIPU_TEST_COPYING   how that server copies a database soonest, in SQL; empty where it knows one way only
#   QUIPU_TEST_REDIS     redis:// URL
#   QUIPU_TEST_SCHEMAS   folder with the published schemas of bank files
#   QUIPU_TEST_S3        http://KEY:SECRET@HOST:PORT/BUCKET of a server that speaks S3
# All of them listen on loopback only, on ports that were free, with a password made for this run.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bed/install.sh

durable=no interactive=no
while :; do
    case "${1-}" in
        --durable) durable=yes ;;
        --interactive) interactive=yes ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || bed_fail "with-servers.sh: no command given"

need initdb postgresql
need redis-server redis-server
need python3 python3
need setpriv util-linux
. tests/bed/schemas.sh
need_s3_server

# PostgreSQL refuses to run as root, so root lends it the user that Debian's package made.
as_owner=(setpriv)
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    getent passwd "$owner" >/dev/null || { owner=quipu-test; getent passwd "$owner" >/dev/null || useradd --system "$owner"; }
    as_owner=(setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups)
fi

# Where nothing needs to survive, the files of the servers and the tests are in memory if there is plenty of it: each test makes and drops a
# database of hundreds of files, which is more work for a file system on disk than the test itself.
plenty=4000000
kilobytes() { df --output=avail -k "$1" 2>/dev/null | tail -n 1; }
room=${TMPDIR:-/tmp}
if [ "$durable" = no ] && [ -w /dev/shm ] && [ "$(kilobytes /dev/shm)" -gt "$plenty" ] &&
    [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt $((2 * plenty)) ]; then
    room=/dev/shm
fi
# Remove the folders of earlier runs that were killed.
for left in "$room"/quipu-bed.*; do
    if [ -s "$left/pid" ] && ! [ -e "/proc/$(cat "$left/pid")" ]; then rm -rf "$left" 2>/dev/null || true; fi
done
bed=$(mktemp -d "$room/quipu-bed.XXXXXX")
echo "$$" >"$bed/pid"
[ "$(id -u)" != 0 ] || chown "$owner" "$bed"

stop() {
    trap - EXIT INT TERM HUP
    # The command first: its gateways hold connections to the servers.
    if [ -n "${command_pid-}" ] && kill -0 "$command_pid" 2>/dev/null; then
        kill -TERM -- "-$command_pid" 2>/dev/null || true
        wait "$command_pid" 2>/dev/null || true
    fi
    [ -z "${s3_pid-}" ] || kill -TERM "$s3_pid" 2>/dev/null || true
    [ -z "${redis_pid-}" ] || kill -TERM "$redis_pid" 2>/dev/null || true
    # Immediate shutdown: nothing in this cluster is worth a checkpoint.
    [ -z "${postgres_pid-}" ] || kill -QUIT "$postgres_pid" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$bed"
}
trap 'stop' EXIT
trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM HUP

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}
# Another process may take the port between the look and the start; then the next one is tried.
start() {
    local name=$1 log=$2 ready=$3 attempt port pid i
    shift 3
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        "$@" "$port" >"$log" 2>&1 &
        pid=$!
        for i in $(seq 300); do
            kill -0 "$pid" 2>/dev/null || break
            if "$ready" "$port"; then
                started_pid=$pid started_port=$port
                return
            fi
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    cat "$log" >&2
    bed_fail "$name did not start; its log is above."
}

# Own process groups, so that Ctrl-C reaches this script alone and the order of stopping is its own.
set -m

# A client and the server each hash a password 4,096 times for every connection. Where durability is off, once is enough: what
# the server keeps of a password tells how often (RFC 5802), and nobody guesses 128 random bits.
hashed_once() {
    python3 - "$password" <<'END'
import base64, hashlib, hmac, os, sys
salt = os.urandom(16)
salted = hashlib.pbkdf2_hmac("sha256", sys.argv[1].encode(), salt, 1)
client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
parts = (base64.b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server))
print("SCRAM-SHA-256$1:{}${}:{}".format(*parts), end="")
END
}
if [ "$durable" = yes ]; then printf '%s' "$password"; else hashed_once; fi >"$bed/password"
chmod 644 "$bed/password"
(cd / && "${as_owner[@]}" initdb --pgdata="$bed/postgres" --username=quipu --pwfile="$bed/password" \
    --auth=scram-sha-256 --locale=C --encoding=UTF8 --no-sync) >"$bed/initdb.log" 2>&1 ||
    { cat "$bed/initdb.log" >&2; bed_fail "PostgreSQL's initdb failed; its log is above."; }
settings=(-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=1000 -c log_min_messages=warning)
[ "$durable" = yes ] || settings+=(-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0)

run_postgres() { cd / && exec "${as_owner[@]}" --pdeathsig QUIT postgres -D "$bed/postgres" "${settings[@]}" -p "$1"; }
postgres_ready() { pg_isready -q -h 127.0.0.1 -p "$1" -t 1; }
start PostgreSQL "$bed/postgres.log" postgres_ready run_postgres
postgres_pid=$started_pid
export QUIPU_TEST_POSTGRES="postgres://quipu:$password@127.0.0.1:$started_port/postgres"
export QUIPU_TEST_COPYING=
# Copying files costs a checkpoint, which is cheap where nothing is flushed. Older servers do nothing else.
version=$(postgres --version | grep -oE '[0-9]+' | head -1)
[ "$durable" = yes ] || [ "$version" -lt 15 ] || QUIPU_TEST_COPYING="STRATEGY file_copy"

run_redis() {
    exec setpriv --pdeathsig TERM redis-server --port "$1" --bind 127.0.0.1 --requirepass "$password" \
        --save '' --appendonly no --dir "$bed"
}
redis_ready() { REDISCLI_AUTH=$password redis-cli -h 127.0.0.1 -p "$1" ping 2>/dev/null | grep -q PONG; }
start Redis "$bed/redis.log" redis_ready run_redis
redis_pid=$started_pid
export QUIPU_TEST_REDIS="redis://:$password@127.0.0.1:$started_port/0"

mkdir -p "$bed/s3/quipu"
run_s3() {
    exec setpriv --pdeathsig TERM "$s3_server" --host 127.0.0.1 --port "$1" \
        --access-key quipu --secret-key "$password" "$bed/s3"
}
s3_ready() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
start "the S3 server" "$bed/s3.log" s3_ready run_s3
s3_pid=$started_pid
export QUIPU_TEST_S3="http://quipu:$password@127.0.0.1:$started_port/quipu"

if [ "$room" = /dev/shm ]; then
    # The tests' own files are in memory too. Some of their programs run as other users.
    chmod 711 "$bed"
    mkdir --mode 1777 "$bed/tmp"
    export TMPDIR="$bed/tmp"
fi

bed_say "PostgreSQL $(postgres --version | grep -oE '[0-9.]+' | head -1), Redis and an S3 server run for this command only"
status=0
if [ "$interactive" = yes ]; then
    set +m
    "$@" || status=$?
else
    setpriv --pdeathsig TERM "$@" </dev/null &
    command_pid=$!
    wait "$command_pid" || status=$?
fi
exit "$status"
