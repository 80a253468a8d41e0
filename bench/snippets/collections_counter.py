# what: Counter, defaultdict, deque, namedtuple
# expect: {"top": [["the", 3]], "five": ["quick", "brown", "jumps"], "last": ["the", "end"]}
from collections import Counter, defaultdict, deque, namedtuple

Word = namedtuple("Word", "text length")
text = "the quick brown fox jumps over the lazy dog the end"
words = [Word(word, len(word)) for word in text.split()]
by_length = defaultdict(list)
for word in words:
    by_length[word.length].append(word.text)
last = deque(maxlen=2)
for word in words:
    last.append(word.text)
{"top": Counter(word.text for word in words).most_common(1), "five": by_length[5], "last": list(last)}
