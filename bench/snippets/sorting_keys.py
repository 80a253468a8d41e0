# what: multi-key sorting, zip, enumerate, any and all, walrus
# expect: [{"Ann": 1, "Zoe": 2, "Bob": 3}, [3, 3, 3], "Zoe", true, true]
rows = [{"name": "Zoe", "age": 30}, {"name": "Ann", "age": 30}, {"name": "Bob", "age": 25}]
ordered = sorted(rows, key=lambda row: (-row["age"], row["name"]))
ranking = {row["name"]: place for place, row in enumerate(ordered, start=1)}
long_names = [size for row in rows if (size := len(row["name"])) >= 3]
while (top := ordered.pop())["age"] < 30:
    pass
[ranking, long_names, top["name"], any(row["age"] > 29 for row in rows), all(rows)]
