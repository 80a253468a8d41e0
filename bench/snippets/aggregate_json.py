# what: parse JSON text and group it
# expect: {"red": 7, "blue": 5}
import json

raw = '[{"team": "red", "points": 3}, {"team": "blue", "points": 5}, {"team": "red", "points": 4}]'
totals = {}
for row in json.loads(raw):
    totals[row["team"]] = totals.get(row["team"], 0) + row["points"]
print(json.dumps(totals, indent=2, sort_keys=True))
totals
