# what: groupby, combinations, accumulate, chain, islice
# expect: [{"jan": 7, "feb": 5, "mar": 2}, ["ab", "ac", "bc"], [1, 3, 6, 10], [1, 2, 3], 4]
from itertools import accumulate, chain, combinations, groupby, islice, product

sales = [("jan", 3), ("jan", 4), ("feb", 5), ("mar", 1), ("mar", 1)]
monthly = {month: sum(amount for _, amount in rows) for month, rows in groupby(sales, key=lambda row: row[0])}
pairs = ["".join(pair) for pair in combinations("abc", 2)]
grid = list(product([0, 1], repeat=2))
[monthly, pairs, list(accumulate([1, 2, 3, 4])), list(islice(chain([1], [2, 3], [4]), 3)), len(grid)]
