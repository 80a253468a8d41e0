# what: functools, operator, partial, reduce, lru_cache
# expect: [120, 42, 12586269025, "Bob", ["scale"]]
from functools import lru_cache, partial, reduce, wraps
from operator import itemgetter, mul


def logged(function):
    @wraps(function)
    def inner(*args, **kwargs):
        calls.append(function.__name__)
        return function(*args, **kwargs)

    return inner


calls = []


@logged
def scale(factor, value):
    return factor * value


@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


double = partial(scale, 2)
people = [{"name": "Ann", "age": 31}, {"name": "Bob", "age": 25}]
[reduce(mul, range(1, 6)), double(21), fib(50), min(people, key=itemgetter("age"))["name"], calls]
