import itertools as it, functools as ft, operator as op
@ft.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
groups = {k: len(list(g)) for k, g in it.groupby(sorted("mississippi"))}
[fib(80), ft.reduce(op.mul, range(1, 6)), groups, list(it.accumulate([1, 2, 3])), len(list(it.combinations(range(6), 3)))]
# expect: [23416728348467685, 120, {"i": 4, "m": 1, "p": 2, "s": 4}, [1, 3, 6], 20]
