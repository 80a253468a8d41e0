# what: csv.DictReader over text, csv.writer back
# expect: ["product,total", "mill,220.0", "stone,80.0"]
import csv
import io

text = """date,product,amount
2026-01-03,mill,120.50
2026-01-09,stone,80.00
2026-02-01,mill,99.50
"""
rows = list(csv.DictReader(io.StringIO(text)))
by_product = {}
for row in rows:
    by_product[row["product"]] = by_product.get(row["product"], 0.0) + float(row["amount"])
out = io.StringIO()
writer = csv.writer(out, lineterminator="\n")
writer.writerow(["product", "total"])
writer.writerows(sorted(by_product.items()))
print(out.getvalue())
out.getvalue().splitlines()
