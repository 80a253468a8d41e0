import statistics as s
data = [2, 4, 4, 4, 5, 5, 7, 9]
{"mean": s.mean(data), "median": s.median(data), "stdev": s.pstdev(data), "mode": s.mode(data), "quartiles": s.quantiles(data, n=4)}
# expect: {"mean": 5, "median": 4.5, "stdev": 2.0, "mode": 4, "quartiles": [4.0, 4.5, 6.5]}
