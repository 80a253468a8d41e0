import json
orders = json.loads('[{"id": 1, "items": [{"sku": "a", "n": 2}]}, {"id": 2, "items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 4}]}]')
flat = [{"order": o["id"], **item} for o in orders for item in o["items"]]
by_sku = {}
for row in flat:
    by_sku.setdefault(row["sku"], []).append(row["order"])
print(json.dumps(flat, indent=2))
by_sku
# expect: {"a": [1, 2], "b": [2]}
