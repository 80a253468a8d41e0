# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Finds the calls of a program that are written to run in parallel, from its syntax tree.

``x = crm.find()`` wants a value; ``gather(crm.a(), crm.b())`` wants two calls in progress. At the moment of a call both look
alike, so the tree is read beforehand: a call is *parallel* when its value may reach an ``await`` or an asyncio function, directly
or through names, containers, loops, returns and parameters. A call missed here still works, only one at a time.
"""

import ast

ASYNC_FUNCTIONS = frozenset(
    "gather create_task ensure_future wait wait_for as_completed shield run_until_complete run_coroutine_threadsafe".split()
)
PASS_THROUGH = frozenset("list tuple set dict map filter zip sorted reversed enumerate chain from_iterable iter next".split())
FILLING = frozenset("append add extend insert update setdefault appendleft put put_nowait".split())
VIEWS = frozenset("items values keys copy pop get popleft".split())
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def find_parallel_sites(tree: ast.AST) -> set[tuple[int, int]]:
    """Returns the end positions (line, column) of the parallel calls, which can be compared with bytecode positions."""
    return _Sites(tree).found


class _Sites(ast.NodeVisitor):
    def __init__(self, tree):
        self.found = set()
        self._scope = {}  # node -> innermost function or None
        self._bound = {None: set()}  # function -> names bound in it
        self._functions = {}  # name -> definitions
        self._binds = []  # (scope, target names, value expression)
        self._calls = []
        self._todo = []
        self._seen = set()
        self._tainted = set()
        self._collect(tree, None)
        self._follow_values()

    # -- first pass: scopes, bindings, consumers ------------------------------------------------------------------------

    def _collect(self, node, scope):
        for child in ast.iter_child_nodes(node):
            self._scope[child] = scope
            inner = scope
            if isinstance(child, _FUNCTIONS):
                inner = child
                self._bound[child] = {arg.arg for arg in ast.walk(child.args) if isinstance(arg, ast.arg)}
                if not isinstance(child, ast.Lambda):
                    self._bound[scope].add(child.name)
                    self._functions.setdefault(child.name, []).append(child)
            self._note_bindings(child, scope)
            self._collect(child, inner)

    def _note_bindings(self, node, scope):
        match node:
            case ast.Name(ctx=ast.Store()):
                self._bound[scope].add(node.id)
            case ast.Assign():
                for target in node.targets:
                    self._bind(scope, target, node.value)
                    if isinstance(target, ast.Name) and isinstance(node.value, ast.Lambda):
                        self._functions.setdefault(target.id, []).append(node.value)
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() if node.value is not None:
                self._bind(scope, node.target, node.value)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._bind(scope, node.target, node.iter)
            case ast.Await():
                self._todo.append((node.value, scope))
            case ast.Call():
                self._calls.append((node, scope))
                self._note_call(node, scope)

    def _note_call(self, node, scope):
        name = _last_name(node.func)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name in ASYNC_FUNCTIONS or (name == "run" and _base_name(node.func) == "asyncio"):
            self._todo += [(argument, scope) for argument in arguments]
        elif name in FILLING and isinstance(node.func, ast.Attribute):
            for argument in arguments:
                self._bind(scope, node.func.value, argument)

    def _bind(self, scope, target, value):
        names = {_base_name(part) for part in ast.walk(target) if isinstance(part, ast.Name | ast.Subscript | ast.Attribute)}
        self._binds.append((scope, names - {None}, value))

    # -- second pass: follow values backwards from their consumers ------------------------------------------------------

    def _follow_values(self):
        while self._todo:
            node, scope = self._todo.pop()
            if id(node) not in self._seen:
                self._seen.add(id(node))
                self._consume(node, scope)

    def _consume(self, node, scope):  # noqa: C901 - one arm per kind of node
        match node:
            case ast.Call():
                self._consume_call(node, scope)
            case ast.Name():
                self._taint(node.id, scope)
            case ast.Attribute() | ast.Subscript():
                self._taint(_base_name(node), scope)
            case ast.List() | ast.Tuple() | ast.Set():
                self._todo += [(element, scope) for element in node.elts]
            case ast.Dict():
                self._todo += [(value, scope) for value in node.values]
            case ast.Starred() | ast.NamedExpr() | ast.Await():
                self._mark(node)
                self._todo.append((node.value, scope))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self._todo.append((node.elt, scope))
            case ast.DictComp():
                self._todo.append((node.value, scope))
            case ast.IfExp():
                self._todo += [(node.body, scope), (node.orelse, scope)]
            case ast.BoolOp():
                self._todo += [(value, scope) for value in node.values]
            case ast.BinOp():
                self._todo += [(node.left, scope), (node.right, scope)]
            case ast.Lambda():
                self._todo.append((node.body, node))

    def _consume_call(self, node, scope):
        self._mark(node)
        name = _last_name(node.func)
        if name in PASS_THROUGH:
            self._todo += [(argument, scope) for argument in node.args]
        elif name in VIEWS and isinstance(node.func, ast.Attribute):
            self._todo.append((node.func.value, scope))
        if isinstance(node.func, ast.Name):
            self._consume_returns(node.func.id)

    def _consume_returns(self, name):
        """Consumes the values that a plain function of this program returns, where it is called."""
        for function in self._functions.get(name, ()):
            if isinstance(function, ast.Lambda):
                self._todo.append((function.body, function))
            elif isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                        self._todo.append((node.value, self._scope[node]))

    def _taint(self, name, scope):
        if name is None:
            return
        home = self._find_binding_scope(name, scope)
        if (name, home) in self._tainted:
            return
        self._tainted.add((name, home))
        self._consume_returns(name)
        for where, names, value in self._binds:
            if name in names and self._find_binding_scope(name, where) is home:
                self._todo.append((value, where))
        if home is not None and not isinstance(home, ast.Lambda):
            self._taint_arguments(name, home)

    def _taint_arguments(self, name, function):
        """Consumes the arguments that are passed for a parameter which the function awaits."""
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        for call, scope in self._calls:
            if isinstance(call.func, ast.Name) and call.func.id == function.name:
                if name in names and names.index(name) < len(call.args):
                    self._todo.append((call.args[names.index(name)], scope))
                if function.args.vararg and function.args.vararg.arg == name:
                    self._todo += [(argument, scope) for argument in call.args]
                self._todo += [(keyword.value, scope) for keyword in call.keywords if keyword.arg == name]

    def _find_binding_scope(self, name, scope):
        """Returns the function in which ``name`` is bound, seen from ``scope``; None is the module."""
        while scope is not None and name not in self._bound[scope]:
            scope = self._scope[scope]
        return scope

    def _mark(self, node):
        self.found.add((node.end_lineno, node.end_col_offset))


def _last_name(func):
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else None


def _base_name(node):
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
