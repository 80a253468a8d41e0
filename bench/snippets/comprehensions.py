# what: nested comprehensions, conditional expressions, star unpacking
# expect: [[1, 5, 9], 25, ["a", "e", "i"], 1, [2, -3, 4, 5, -6], 7]
matrix = [[row * 4 + column for column in range(4)] for row in range(3)]
transposed = [list(column) for column in zip(*matrix)]
squares = {n: n**2 for n in range(6) if n % 2}
vowels = sorted({letter for letter in "gristmill gateway" if letter in "aeiou"})
first, *middle, last = [n if n % 3 else -n for n in range(1, 8)]
[transposed[1], squares[5], vowels, first, middle, last]
