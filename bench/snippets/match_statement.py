# what: structural pattern matching
# expect: ["big order of a and 1 more", "empty order", "refund", 3, "HI", null]
def route(event):
    match event:
        case {"type": "order", "items": [first, *rest], "total": total} if total > 100:
            return f"big order of {first} and {len(rest)} more"
        case {"type": "order", "items": []}:
            return "empty order"
        case {"type": "refund" | "chargeback" as kind}:
            return kind
        case [x, y]:
            return x + y
        case str() as text:
            return text.upper()
        case _:
            return None


events = [{"type": "order", "items": ["a", "b"], "total": 120}, {"type": "order", "items": []}, {"type": "refund"}, [1, 2], "hi", 3.5]
[route(event) for event in events]
