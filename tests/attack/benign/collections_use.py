from collections import Counter, defaultdict, deque, OrderedDict, namedtuple, ChainMap
Point = namedtuple("Point", "x y")
words = "the cat and the dog and the bird".split()
index = defaultdict(list)
for n, w in enumerate(words): index[w[0]].append(n)
d = deque([1, 2, 3], maxlen=3); d.append(4)
[Counter(words).most_common(2), dict(index)["t"], list(d), Point(1, 2), ChainMap({"a": 1}, {"a": 2, "b": 3})["b"]]
# expect: [[["the", 3], ["and", 2]], [0, 3, 6], [2, 3, 4], {"x": 1, "y": 2}, 3]
