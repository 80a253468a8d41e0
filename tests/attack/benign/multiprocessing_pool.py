import multiprocessing as mp
def square(n):
    return n * n
with mp.get_context("fork").Pool(3) as pool:
    results = pool.map(square, range(8))
results
# expect: [0, 1, 4, 9, 16, 25, 36, 49]
