# what: heapq and bisect
# expect: [["read", "plan", "think", "write"], [9, 7], ["F", "C", "A"]]
import bisect
import heapq

tasks = [(5, "write"), (1, "read"), (3, "think")]
heapq.heapify(tasks)
heapq.heappush(tasks, (2, "plan"))
order = [heapq.heappop(tasks)[1] for _ in range(len(tasks))]
grades = [bisect.bisect([60, 70, 80, 90], score) for score in (55, 70, 95)]
[order, heapq.nlargest(2, [4, 9, 1, 7]), ["FDCBA"[grade] for grade in grades]]
