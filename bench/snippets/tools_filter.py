# what: fetch rows from a tool, filter, join, aggregate
# expect: [["Customer 94", 418.62], ["Customer 93", 412.92]]
from servers import crm, shop

orders = shop.list_orders(days=30)
late = [order for order in orders if order["days"] > 25]
names = {}
for order in late:
    if order["customer"] not in names:
        names[order["customer"]] = crm.find(id=order["customer"])["name"]
totals = {}
for order in late:
    name = names[order["customer"]]
    totals[name] = round(totals.get(name, 0) + order["total"], 2)
print(f"{len(late)} of {len(orders)} orders are late")
sorted(totals.items(), key=lambda item: -item[1])[:2]
