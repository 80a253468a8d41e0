# needs: pandas
import pandas as pd, numpy as np
frame = pd.DataFrame({"k": ["a", "b", "a"], "v": [1.0, 2.0, np.nan]})
grouped = frame.fillna(0).groupby("k").v.sum()
frame.to_csv("f.csv", index=False)
[grouped.to_dict(), pd.read_csv("f.csv").shape, float(np.linalg.norm([3, 4])), pd.date_range("2026-01-30", periods=3).strftime("%d").tolist()]
# expect: [{"a": 1.0, "b": 2.0}, [3, 2], 5.0, ["30", "31", "01"]]
