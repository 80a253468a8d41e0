from concurrent.futures import ThreadPoolExecutor
import threading
lock, total = threading.Lock(), 0
def add(n):
    global total
    with lock:
        total += n
    return n
with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(add, range(100)))
[total, len(results)]
# expect: [4950, 100]
