import csv, io
text = "region,amount\nnorth,10\nsouth,5\nnorth,7\n"
totals = {}
for row in csv.DictReader(io.StringIO(text)):
    totals[row["region"]] = totals.get(row["region"], 0) + int(row["amount"])
totals
# expect: {"north": 17, "south": 5}
