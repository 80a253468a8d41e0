import multiprocessing as mp
def produce(queue, n):
    queue.put(n * 10)
queue = mp.Queue()
workers = [mp.Process(target=produce, args=(queue, n)) for n in range(3)]
for w in workers: w.start()
got = sorted(queue.get(timeout=20) for _ in workers)
for w in workers: w.join()
got
# expect: [0, 10, 20]
