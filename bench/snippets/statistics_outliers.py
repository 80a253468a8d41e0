# what: statistics module, math, rounding
# expect: [14.629, 12.1, [30.0], true]
import math
import statistics

values = [12.1, 11.8, 12.4, 30.0, 12.0, 11.9, 12.2]
mean, spread = statistics.mean(values), statistics.stdev(values)
outliers = [value for value in values if abs(value - mean) > 2 * spread]
[round(mean, 3), statistics.median(values), outliers, math.isclose(spread, math.sqrt(statistics.variance(values)))]
