import textwrap, string, difflib, pprint
rows = [("apples", 3, 1.5), ("pears", 12, 0.25)]
table = "\n".join(f"{name:<10}{n:>4}{price:>8.2f}" for name, n, price in rows)
print(table)
diff = list(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm=""))
[string.Template("$who is $n").substitute(who="ann", n=3), textwrap.shorten("hello world again", 12), diff[-2:], f"{1234567.891:,.1f}"]
# expect: ["ann is 3", "hello [...]", ["-b", "+c"], "1,234,567.9"]
