from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class Task:
    priority: int
    name: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False)
tasks = sorted([Task(3, "c"), Task(1, "a", ["x"]), Task(2, "b")])
[asdict(t) for t in tasks]
# expect: [{"priority": 1, "name": "a", "tags": ["x"]}, {"priority": 2, "name": "b", "tags": []}, {"priority": 3, "name": "c", "tags": []}]
