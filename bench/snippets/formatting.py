# what: f-strings, format specs, alignment, textwrap
# expect: ["mill    |    1,234.50| 25.6%", "****sum*****000420x00ff'q'", "a long line that has", "x"]
import textwrap

rows = [("mill", 1234.5, 0.256), ("stone", 7.25, 0.5)]
lines = [f"{name:<8}|{price:>12,.2f}|{share:6.1%}" for name, price, share in rows]
lines.append("{:*^12}".format("sum") + "%05d" % 42 + f"{255:#06x}" + f"{'q'!r}")
paragraph = textwrap.fill("a long line that has to be wrapped somewhere", width=20)
print("\n".join(lines))
[lines[0], lines[2], paragraph.splitlines()[0], textwrap.dedent("  x")]
