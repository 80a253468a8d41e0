"""Connections of one process must not take each other's locks away: another process would believe that nobody is there."""

import subprocess
import sys
from pathlib import Path

from gristmill.store.sqlite import Sqlite

COME_AND_GO = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("INSERT INTO things VALUES (2)")
connection.close()
"""


def test_whoever_comes_and_goes_leaves_the_log_to_those_who_stay(tmp_path: Path) -> None:
    driver = Sqlite(tmp_path / "gristmill.db")
    first = driver.connect()
    first.execute("CREATE TABLE things (n INTEGER)")
    second = driver.connect()
    first.execute("INSERT INTO things VALUES (1)")
    subprocess.run([sys.executable, "-c", COME_AND_GO, str(tmp_path / "gristmill.db")], check=True, timeout=30)
    # The last one to leave a database removes its log; the other process was not the last.
    assert (tmp_path / "gristmill.db-wal").exists()
    first.execute("INSERT INTO things VALUES (3)")
    assert second.execute("SELECT n FROM things ORDER BY n").fetchall() == [(1,), (2,), (3,)]
    for connection in (first, second):
        connection.close()
