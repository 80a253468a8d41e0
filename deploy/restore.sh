#!/bin/sh
# Put a copy of backup.sh back: restore.sh TARGET KEYS STATE
#
# STATE must be new or empty, and nothing may run on it. A dump of PostgreSQL goes into PGDATABASE, which must be empty; what is
# there already makes it fail, and nothing is changed. Run it as the user that the service runs as, or as root to keep owners.
set -eu
umask 077

copy=${1:?the copy} keys=${2:?the keys} state=${3:?the new state folder}
mkdir -p "$state"
if [ -n "$(ls -A "$state")" ]; then
    echo "$state is not empty: nothing was changed" >&2
    exit 1
fi
if [ -e "$copy/database.dump" ]; then
    : "${PGDATABASE:?the copy is of a PostgreSQL: say which database it goes to}"
    pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname="$PGDATABASE" "$copy/database.dump"
else
    cp "$copy/gristmill.db" "$state/gristmill.db"
fi
tar -C "$state" -xzpf "$copy/files.tar.gz"
for name in ledger.key audit.counter; do
    if [ -e "$keys/$name" ]; then cp -p "$keys/$name" "$state/$name"; fi
done
echo "restored to $state; \`gristmill audit verify\` says whether the records are whole"
