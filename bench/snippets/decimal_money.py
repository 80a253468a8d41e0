# what: Decimal arithmetic with rounding, Fraction
# expect: ["25.335", "4.81", "1/2", "30.14"]
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

prices = [Decimal("19.99"), Decimal("5.01"), Decimal("0.335")]
total = sum(prices, Decimal(0))
tax = (total * Decimal("0.19")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
share = Fraction(1, 3) + Fraction(1, 6)
[str(total), str(tax), str(share), f"{total + tax:,.2f}"]
