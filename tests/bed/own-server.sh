#!/usr/bin/env bash
# A PostgreSQL server of a test's own, to be killed, promoted and restored.
#
#   own-server.sh make FOLDER PORT            a new one, with a role `quipu` that needs no password; it runs afterwards
#   own-server.sh standby FOLDER PORT OF      a copy of the server on port OF that follows it; it runs afterwards
#   own-server.sh start|kill|promote FOLDER   what has happened when it returns; a kill leaves no time for anything
#   own-server.sh as FOLDER COMMAND…          runs a command as the user whom the servers run as, in the folder
#   own-server.sh remove FOLDER               kills it and deletes the folder
#
# The parent of FOLDER is made if there is none, and belongs to that user.
set -euo pipefail
. "$(dirname "$0")/install.sh"

word=$1 folder=$2
shift 2
# PostgreSQL refuses to run as root.
as_owner=()
if [ "$(id -u)" = 0 ]; then
    owner=postgres
    getent passwd "$owner" >/dev/null || owner=quipu-test
    as_owner=(setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups)
fi
own() { (cd "$(dirname "$folder")" && "${as_owner[@]}" "$@"); }

room() {
    [ -d "$(dirname "$folder")" ] || mkdir -p "$(dirname "$folder")"
    [ "$(id -u)" != 0 ] || chown "$owner" "$(dirname "$folder")"
}
begin() {
    own pg_ctl --pgdata="$folder" --log="$folder.log" --timeout=60 --wait start >"$folder.start" 2>&1 </dev/null ||
        { cat "$folder.start" "$folder.log" >&2; exit 1; }
}

case "$word" in
    make)
        room
        own initdb --pgdata="$folder" --username=quipu --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null
        own tee -a "$folder/postgresql.conf" >/dev/null <<END
port = $1
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
END
        begin
        ;;
    standby)
        room
        own pg_basebackup --pgdata="$folder" --dbname="host=127.0.0.1 port=$2 user=quipu" --checkpoint=fast \
            --write-recovery-conf --no-sync
        own tee -a "$folder/postgresql.auto.conf" >/dev/null <<<"port = $1"
        begin
        ;;
    start) begin ;;
    kill) own pg_ctl --pgdata="$folder" --mode=immediate --wait stop >/dev/null ;;
    promote) own pg_ctl --pgdata="$folder" --wait promote >/dev/null ;;
    as) own "$@" ;;
    remove)
        own pg_ctl --pgdata="$folder" --mode=immediate --wait stop >/dev/null 2>&1 || true
        rm -rf "$folder" "$folder.log" "$folder.start"
        ;;
    *) bed_fail "own-server.sh: $word?" ;;
esac
