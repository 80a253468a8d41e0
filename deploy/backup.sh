#!/bin/sh
# Back up a running Gristmill: backup.sh STATE TARGET KEYS
#
# STATE is the state folder (`store.path`), TARGET a new folder for the copy, KEYS one for keys, kept apart: those of this copy go
# into a folder with the name of TARGET there, and those of earlier ones stay. With PGDATABASE in the environment (and PGHOST, PGUSER,
# PGPASSWORD or a .pgpass, as libpq knows them) the database is PostgreSQL, otherwise the SQLite file in STATE. PG_DUMP is another way
# to reach it, such as PG_DUMP="docker compose exec -T postgres pg_dump --username=mill --dbname=mill".
set -eu
umask 077

refuse() {
    echo "$1: nothing was copied" >&2
    exit 1
}

state=${1:?the state folder} target=${2:?where the copy goes} keys=${3:?where the keys go}/$(basename "$2")
database=$state/gristmill.db dump=${PG_DUMP:-${PGDATABASE:+pg_dump}}
[ -d "$state" ] || refuse "there is no folder $state"
[ -n "$dump" ] || [ -f "$database" ] || refuse "there is no $database, and neither PGDATABASE nor PG_DUMP is set"
mkdir "$target"
# Half a copy must not be taken for one.
trap 'exit 1' INT TERM
trap 'rm -rf "$target"' EXIT
mkdir -p "${keys%/*}"
mkdir "$keys"
trap 'rm -rf "$target" "$keys"' EXIT

# The counter first: it says how many records there are at least, and the copy of the database must not have fewer.
for name in ledger.key audit.counter; do
    if [ -e "$state/$name" ]; then cp -p "$state/$name" "$keys/$name"; fi
done
if [ -n "$dump" ]; then
    kind=PostgreSQL
    # In words, since PG_DUMP is a command with arguments.
    $dump --format=custom --no-owner --no-privileges > "$target/database.dump"
    grep -qa 'TABLE DATA' "$target/database.dump" || refuse "this database has no tables"
else
    kind=SQLite
    # SQLite copies its own file whole, while others write to it; cp would not. Opened for writing, since then it tidies up after
    # itself, but never made.
    python3 - "$database" "$target/gristmill.db" <<'PYTHON' || refuse "$database cannot be copied"
import pathlib, sqlite3, sys
try:
    source = sqlite3.connect(f"{pathlib.Path(sys.argv[1]).absolute().as_uri()}?mode=rw", uri=True)
    copy = sqlite3.connect(sys.argv[2])
    source.backup(copy)
    is_whole = copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    has_tables = copy.execute("SELECT 1 FROM sqlite_master").fetchone()
    source.close()
    copy.close()
except sqlite3.Error as error:
    sys.exit(str(error))
sys.exit(None if is_whole and has_tables else "it is broken, or empty")
PYTHON
fi
# Files of sessions and what servers have told; not what is made anew at each start. Programs go on writing meanwhile: with 1 tar says
# that files changed or went away under its hands, and which.
status=0
LC_ALL=C tar -C "$state" --exclude=./gristmill.db --exclude='./gristmill.db[-.]*' --exclude=./ledger.key --exclude=./audit.counter \
    --exclude=./scratch --exclude=./catalog -czf "$target/files.tar.gz" . 2> "$target/in-motion" || status=$?
if [ -s "$target/in-motion" ]; then cat "$target/in-motion" >&2; else rm "$target/in-motion"; fi
[ "$status" -le 1 ] || refuse "the files of $state cannot be copied"
trap - EXIT
[ "$status" -eq 0 ] || echo "these files were being written; the copy has them as they were at some moment, or not at all" >&2
[ -e "$keys/ledger.key" ] || echo "the key is not in $state: keep the one that \`store.key\` names, without it a journal cannot be read" >&2
echo "backed up ($kind and files) to $target; the keys are in $keys"
