# what: breadth-first search with sets and a queue, type hints
# expect: ["a", "b", "d", "f"]
from collections import deque
from typing import Optional

graph: dict[str, list[str]] = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": ["f"], "e": ["f"], "f": []}


def shortest(start: str, goal: str) -> Optional[list[str]]:
    queue, seen = deque([[start]]), {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        for node in graph[path[-1]]:
            if node not in seen:
                seen.add(node)
                queue.append([*path, node])
    return None


shortest("a", "f")
