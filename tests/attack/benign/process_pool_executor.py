from concurrent.futures import ProcessPoolExecutor
import math, multiprocessing
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    result = list(pool.map(math.factorial, [3, 4, 5]))
result
# expect: [6, 24, 120]
