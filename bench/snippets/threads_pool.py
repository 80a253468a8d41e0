# what: ThreadPoolExecutor over a tool, a lock
# expect: [[10, 11, 12, 13, 14], [0, 1, 2, 3, 4]]
import threading
from concurrent.futures import ThreadPoolExecutor
from servers import shop

lock, seen = threading.Lock(), []


def price(number):
    with lock:
        seen.append(number)
    return shop.get_price(id=number)


with ThreadPoolExecutor(max_workers=4) as pool:
    prices = list(pool.map(price, range(5)))
[prices, sorted(seen)]
