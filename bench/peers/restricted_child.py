"""Runs inside the child: compile with RestrictedPython, run with its guards, print the value of the last expression."""

import ast
import json
import operator
import sys

from RestrictedPython import compile_restricted, limited_builtins, safe_builtins, utility_builtins
from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
from RestrictedPython.Guards import full_write_guard, guarded_iter_unpack_sequence, guarded_unpack_sequence, safer_getattr
from RestrictedPython.PrintCollector import PrintCollector

sys.path += sys.argv[1:3]

HARMLESS = (
    "asyncio bisect collections csv dataclasses datetime decimal enum fractions functools hashlib heapq io itertools json logging"
    " math operator pandas random re statistics string textwrap typing uuid base64 contextlib zoneinfo _strptime"
).split()
IN_PLACE = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv}


def guarded_import(name, *args, **kwargs):
    """Harmless modules only."""
    if name.partition(".")[0] not in HARMLESS:
        raise ImportError(f"import of {name} is not allowed")
    return __import__(name, *args, **kwargs)


builtins = {
    **safe_builtins,
    **limited_builtins,
    **utility_builtins,
    "__import__": guarded_import,
    "__build_class__": __build_class__,
}
MORE = (
    "all any classmethod dict enumerate filter frozenset iter list map max min next property reversed set"
    " staticmethod sum super type"
).split()
builtins |= {name: getattr(__import__("builtins"), name) for name in MORE}
scope = {
    "__builtins__": builtins,
    "__name__": "__main__",
    "__metaclass__": type,
    "_print_": PrintCollector,
    "_getattr_": safer_getattr,
    "_getitem_": default_guarded_getitem,
    "_getiter_": default_guarded_getiter,
    "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
    "_unpack_sequence_": guarded_unpack_sequence,
    "_write_": full_write_guard,
    "_inplacevar_": lambda op, x, y: IN_PLACE[op](x, y),
    "_apply_": lambda function, *args, **kwargs: function(*args, **kwargs),
}
text = sys.stdin.read()
if any(f"{server}_" in text for server in ("bench", "crm", "shop")):
    import toolset

    scope |= {key.replace(".", "_"): function for key, function in toolset.TOOLS.items()}
tree = ast.parse(text)
if tree.body and isinstance(tree.body[-1], ast.Expr):
    tree.body[-1] = ast.Assign([ast.Name("result", ast.Store())], tree.body[-1].value)
code = compile_restricted(ast.unparse(ast.fix_missing_locations(tree)), "<code>", "exec")
exec(code, scope)
print(json.dumps({"result": scope.get("result")}))
