# what: recursion, closures, nonlocal, global
# expect: [24, 41, 6]
counter = 0


def permutations(items):
    global counter
    counter += 1
    if len(items) <= 1:
        return [items]
    return [[item, *rest] for index, item in enumerate(items) for rest in permutations(items[:index] + items[index + 1 :])]


def make_counter():
    count = 0

    def increment(step=1):
        nonlocal count
        count += step
        return count

    return increment


bump = make_counter()
bump()
[len(permutations([1, 2, 3, 4])), counter, bump(5)]
