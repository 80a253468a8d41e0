# what: pandas: frame, filter, group, sort
# expect: [{"region": "south", "sum": 45, "count": 1}, {"region": "north", "sum": 40, "count": 2}, {"region": "west", "sum": 5, "count": 1}]
import pandas as pd

frame = pd.DataFrame(
    {"region": ["north", "south", "north", "west", "south"], "amount": [10, 20, 30, 5, 45], "open": [True, False, True, True, True]}
)
summary = frame[frame["open"]].groupby("region")["amount"].agg(["sum", "count"]).sort_values("sum", ascending=False)
print(summary)
summary.reset_index().to_dict("records")
