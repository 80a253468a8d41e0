import inspect, ast, dis, types, sys, platform, os, time
def add(a: int, b: int = 2) -> int:
    "Add."
    return a + b
tree = ast.parse("x = 1 + 2")
namespace = {}
exec(compile("def f(x): return x * 2", "<made>", "exec"), namespace)
[str(inspect.signature(add)), inspect.getdoc(add), type(tree.body[0]).__name__, namespace["f"](21), eval("1 + 1"), getattr(add, "__name__"),
 platform.system(), os.cpu_count() > 0, globals()["add"] is add, __import__("math").floor(2.5), time.time() > 0]
# expect: ["(a: int, b: int = 2) -> int", "Add.", "Assign", 42, 2, "add", "Linux", true, true, 2, true]
