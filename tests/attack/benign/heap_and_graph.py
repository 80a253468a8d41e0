import heapq, bisect, math
graph = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 6}, "c": {"d": 3}, "d": {}}
def shortest(start, goal):
    queue, seen = [(0, start, [start])], set()
    while queue:
        cost, node, path = heapq.heappop(queue)
        if node == goal: return cost, path
        if node in seen: continue
        seen.add(node)
        for nxt, c in graph[node].items():
            heapq.heappush(queue, (cost + c, nxt, path + [nxt]))
[shortest("a", "d"), bisect.bisect([1, 3, 5], 4), math.isclose(math.dist((0, 0), (3, 4)), 5), math.comb(10, 3)]
# expect: [[6, ["a", "b", "c", "d"]], 2, true, 120]
