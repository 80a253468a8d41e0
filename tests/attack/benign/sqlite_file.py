import sqlite3
with sqlite3.connect("data.db") as db:
    db.execute("pragma journal_mode=wal")
    db.execute("create table if not exists log (line text)")
    db.executemany("insert into log values (?)", [(f"line {n}",) for n in range(1000)])
sqlite3.connect("data.db").execute("select count(*) from log where line like '%9'").fetchone()[0]
# expect: 100
