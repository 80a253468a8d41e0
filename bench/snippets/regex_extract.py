# what: named groups, findall, sub with a function
# expect: [[{"number": "1042", "email": "ann@example.org"}, {"number": "1043", "email": "bob@example.org"}], "Order #1042 for a***@example.org", ["2026-03-01"], ["a", "b", "c"]]
import re

text = "Order #1042 for ann@example.org shipped 2026-03-01; order #1043 for bob@example.org is late."
pattern = re.compile(r"order #(?P<number>\d+) for (?P<email>[\w.]+@[\w.]+\w)", re.IGNORECASE)
orders = [match.groupdict() for match in pattern.finditer(text)]
masked = re.sub(r"(\w)\w*@", lambda match: f"{match.group(1)}***@", text)
[orders, masked[:32], re.findall(r"\d{4}-\d{2}-\d{2}", text), re.split(r"[;.]\s*", "a; b.c")]
