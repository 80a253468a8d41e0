import signal, time
fired = []
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.02)
end = time.monotonic() + 5
while not fired and time.monotonic() < end:
    time.sleep(0.01)
len(fired)
# expect: 1
