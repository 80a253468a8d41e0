# what: generators with yield, yield from, send
# expect: [[0, 2, 4, 6, 8], [1, 2, 3, 4, 5], 15.0]
def numbers(limit):
    n = 0
    while n < limit:
        yield n
        n += 1


def evens(source):
    for n in source:
        if n % 2 == 0:
            yield n


def flatten(items):
    for item in items:
        if isinstance(item, list):
            yield from flatten(item)
        else:
            yield item


def averager():
    total = count = 0
    average = None
    while True:
        value = yield average
        total, count = total + value, count + 1
        average = total / count


average = averager()
next(average)
average.send(10)
[list(evens(numbers(10))), list(flatten([1, [2, [3, 4]], 5])), average.send(20)]
