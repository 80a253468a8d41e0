# what: dataclass with defaults, order and replace
# expect: [{"amount": 90.5, "number": "A", "tags": ["late"]}, ["B", "C", "A"]]
from dataclasses import asdict, dataclass, field, replace


@dataclass(order=True)
class Invoice:
    amount: float
    number: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False)


invoices = [Invoice(120.0, "B"), Invoice(80.5, "A", ["late"]), Invoice(99.0, "C")]
smallest = min(invoices)
changed = replace(smallest, amount=smallest.amount + 10)
[asdict(changed), [invoice.number for invoice in sorted(invoices, reverse=True)]]
