import sys
from fractions import Fraction
n = 2 ** 200
[n % 1000007, Fraction(1, 3) + Fraction(1, 6) == Fraction(1, 2), pow(3, 10 ** 6, 97), (0.1 + 0.2) == 0.3, sys.maxsize == 2 ** 63 - 1]
# expect: [446616, true, 61, false, true]
