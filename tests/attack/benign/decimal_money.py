from decimal import Decimal, ROUND_HALF_UP, getcontext
getcontext().prec = 28
prices = [Decimal("19.99"), Decimal("5.005"), Decimal("0.10")]
total = sum(prices).quantize(Decimal("0.01"), ROUND_HALF_UP)
str(total)
# expect: "25.10"
