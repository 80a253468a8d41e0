#!/bin/sh
# Put a copy of backup.sh back: restore.sh TARGET KEYS STATE
#
# STATE must be new or empty, and nothing may run on it. A dump of PostgreSQL goes into PGDATABASE, which must be empty; what is
# there already makes it fail, and nothing is changed. PG_RESTORE is another way to reach it, such as
# PG_RESTORE="docker compose exec -T postgres pg_restore --username=mill --dbname=mill".
#
# Run it as the user that the service runs as, or as root: then all belongs to the owner of STATE if that is a folder made ready for
# the service, and to those of the copy if it is new or root's.
set -eu
umask 077

refuse() {
    echo "$1: nothing was changed" >&2
    exit 1
}

copy=${1:?the copy} keys=${2:?the keys}/$(basename "$1") state=${3:?the new state folder}
[ -e "$copy/files.tar.gz" ] || refuse "there is no copy in $copy"
[ -e "$copy/database.dump" ] || [ -e "$copy/gristmill.db" ] || refuse "there is no database in $copy"
[ -d "$keys" ] || refuse "there are no keys of this copy: $keys"
if [ -d "$state" ] && [ -n "$(ls -A "$state")" ]; then refuse "$state is not empty"; fi
if [ -e "$copy/database.dump" ]; then
    [ -n "${PG_RESTORE:-${PGDATABASE:-}}" ] || refuse "the copy is of a PostgreSQL: say in PGDATABASE which database it goes to"
    # In words, since PG_RESTORE is a command with arguments.
    ${PG_RESTORE:-pg_restore --dbname="$PGDATABASE"} --no-owner --no-privileges --exit-on-error --single-transaction \
        < "$copy/database.dump"
fi

mkdir -p "$state"
owner=$(stat -c %u:%g "$state")
tar -C "$state" -xzpf "$copy/files.tar.gz"
was=$(stat -c %u:%g "$state")
for file in "$copy/gristmill.db" "$keys/ledger.key" "$keys/audit.counter"; do
    if [ -e "$file" ]; then cp "$file" "$state/"; fi
done
if [ "$(id -u)" -eq 0 ]; then
    case $owner in 0:*) owner=$was ;; esac
    # Only what was the service's: a service of root lets each session's code run as somebody else.
    find "$state" -user "${was%:*}" -exec chown -h "$owner" {} +
    for name in gristmill.db ledger.key audit.counter; do
        if [ -e "$state/$name" ]; then chown "$owner" "$state/$name"; fi
    done
fi
echo "restored to $state; \`gristmill audit verify\` says whether the records are whole"
