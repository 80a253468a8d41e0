def pages(total, size):
    for start in range(0, total, size):
        yield list(range(start, min(start + size, total)))
def chain(parts):
    for part in parts:
        yield from part
sum(chain(pages(10, 3))), [len(p) for p in pages(10, 3)]
# expect: [45, [3, 3, 3, 1]]
