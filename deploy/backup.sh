#!/bin/sh
# Back up a running Gristmill: backup.sh STATE TARGET KEYS
#
# STATE is the state folder (`store.path`), TARGET a new folder for the copy, KEYS another one for the key that signs and seals: keep
# them apart. With PGDATABASE in the environment (and PGHOST, PGUSER, PGPASSWORD or a .pgpass, as libpq knows them) the database is
# PostgreSQL, otherwise the SQLite file in STATE.
set -eu
umask 077

state=${1:?the state folder} target=${2:?where the copy goes} keys=${3:?where the keys go}
[ -d "$state" ] || { echo "there is no folder $state" >&2; exit 1; }
mkdir "$target"
mkdir -p "$keys"

# The counter first: it says how many records there are at least, and the copy of the database must not have fewer.
for name in ledger.key audit.counter; do
    if [ -e "$state/$name" ]; then cp -p "$state/$name" "$keys/$name"; fi
done
if [ -n "${PGDATABASE:-}" ]; then
    pg_dump --format=custom --no-owner --no-privileges --file="$target/database.dump"
else
    # SQLite copies its own file whole, while others write to it; cp would not.
    python3 - "$state/gristmill.db" "$target/gristmill.db" <<'PYTHON'
import sqlite3, sys
source, copy = (sqlite3.connect(path) for path in sys.argv[1:])
source.backup(copy)
assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
PYTHON
fi
# Files of sessions and what servers have told; not what is made anew at each start.
tar -C "$state" --exclude=./gristmill.db --exclude='./gristmill.db-*' --exclude=./ledger.key --exclude=./audit.counter \
    --exclude=./scratch --exclude=./catalog -czf "$target/files.tar.gz" .
echo "backed up to $target; the keys are in $keys"
