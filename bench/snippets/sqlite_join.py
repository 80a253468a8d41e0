# what: sqlite3 in memory: create, insert, join
# expect: [["ann", 15.0, 2], ["bob", 3.0, 1]]
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL)")
db.executemany("INSERT INTO orders (customer, total) VALUES (?, ?)", [("ann", 10.5), ("bob", 3.0), ("ann", 4.5)])
db.commit()
rows = db.execute("SELECT customer, SUM(total), COUNT(*) FROM orders GROUP BY customer ORDER BY 2 DESC").fetchall()
db.close()
[list(row) for row in rows]
