import queue, threading, time
jobs, results = queue.Queue(), []
def worker():
    while (job := jobs.get()) is not None:
        results.append(job ** 2)
        jobs.task_done()
threads = [threading.Thread(target=worker, daemon=True) for _ in range(4)]
for t in threads: t.start()
for n in range(20): jobs.put(n)
jobs.join()
for _ in threads: jobs.put(None)
for t in threads: t.join()
event = threading.Event(); threading.Timer(0.01, event.set).start()
[sum(results), event.wait(5)]
# expect: [2470, true]
