import random
rng = random.Random(42)
sample = rng.sample(range(100), 5)
random.seed(7)
[len(set(sample)), random.randint(1, 6) in range(1, 7), sorted(random.sample("abc", 3)), 0 <= random.gauss(0, 1) ** 2]
# expect: [5, true, ["a", "b", "c"], true]
