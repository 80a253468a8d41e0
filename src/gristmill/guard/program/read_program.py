"""One pass over a program's tree: what it imports, which of those names it uses where, and what surely happens.

*Sure* is what every run reaches: statements at the top level, outside branches, loops, functions and ``try``, before anything
that could end the program. Everything else may never run, so nothing is held against it for certain.
"""

import ast
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cache
from typing import Any, cast

from gristmill.values import dataclass

LOOSE = frozenset(
    "exec eval globals locals vars setattr delattr __import__ importlib import_module modules meta_path path_hooks "
    "exit quit _exit SystemExit abort kill killpg raise_signal execv execve execl execvp os_exit patch settrace setprofile "
    "__builtins__ builtins ctypes gc".split()
)
"""Names by which a program may bend what names mean, or end early and well: with one of them nothing is sure."""

_FORGIVING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """``from module import name as bound``, or ``import module as bound`` where ``name`` is None."""

    node: ast.Import | ast.ImportFrom
    module: str
    name: str | None
    bound: str
    sure: bool
    calm: bool
    """Nothing has run before that could have made a module to import."""
    forgiven: bool
    """Stands in a ``try`` that is ready for its failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """``base.parts[0].parts[1]``, and the call of it, if it is called."""

    node: ast.expr
    base: str
    parts: tuple[str, ...]
    call: ast.Call | None
    sure: bool


@dataclass(slots=True)
class Reading:
    """What was read off a tree."""

    imports: list[Imported] = field(default_factory=list[Imported])
    uses: list[Use] = field(default_factory=list[Use])
    rebound: set[str] = field(default_factory=set[str])
    """Names that something other than an import gives a meaning to."""
    loose: bool = False
    """Nothing is sure after all."""


def read_program(tree: ast.Module, follow: frozenset[str]) -> Reading:
    """Read the whole of ``tree``; uses are noted of names that come from the modules in ``follow``.

    Raises:
        RecursionError: it is nested too deep.
    """
    reader = _Reader(follow)
    reader.visit_all(tree.body, True)
    return reader.found


class _Reader:
    def __init__(self, follow: frozenset[str]) -> None:
        self.found = Reading()
        self._follow = follow
        self._followed: set[str] = set()
        self._left = False  # a top-level return or raise has been seen: what follows may never run
        self._calm = True
        self._functions = 0
        self._forgiving = 0
        self._sure_names: set[str] = set()
        self._special = self._table()

    def _table(self) -> dict[type[ast.AST], Callable[[Any, bool], None]]:
        return {
            ast.Name: self._name, ast.Attribute: self._attribute, ast.Call: self._call, ast.Import: self._import,
            ast.ImportFrom: self._import_from, ast.FunctionDef: self._function, ast.AsyncFunctionDef: self._function,
            ast.Lambda: self._function, ast.ClassDef: self._class, ast.If: self._branch, ast.While: self._branch,
            ast.IfExp: self._branch, ast.BoolOp: self._first_only, ast.Compare: self._compare, ast.For: self._loop,
            ast.AsyncFor: self._loop, ast.ListComp: self._comprehension, ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension, ast.DictComp: self._comprehension, ast.With: self._with,
            ast.AsyncWith: self._with, ast.Try: self._try, ast.TryStar: self._try, ast.Match: self._match,
            ast.MatchAs: self._captured, ast.MatchStar: self._captured, ast.Assert: self._assert, ast.Return: self._leave,
            ast.Raise: self._leave, ast.Global: self._declared, ast.Nonlocal: self._declared,
            ast.Subscript: self._subscript, ast.Await: self._awaited,
        }  # fmt: skip

    def visit_all(self, nodes: Iterable[ast.AST], sure: bool) -> None:
        for node in nodes:
            self.visit(node, sure)

    def visit(self, node: ast.AST, sure: bool) -> None:
        if type(node) is ast.Constant:
            return
        special = self._special.get(type(node))
        if special is not None:
            special(node, sure and not self._left)
        else:
            self._inside(node, sure)

    def _inside(self, node: ast.AST, sure: bool) -> None:
        for name in _fields(type(node)):
            value: object = getattr(node, name, None)
            if isinstance(value, list):
                for each in cast("list[object]", value):
                    if isinstance(each, ast.AST):
                        self.visit(each, sure)
            elif isinstance(value, ast.AST):
                self.visit(value, sure)

    # -- names ----------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, sure: bool) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use(node, None, sure)
        else:
            self.found.rebound.add(node.id)

    def _attribute(self, node: ast.Attribute, sure: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._stir()
            if isinstance(base := _base(node), ast.Name):
                self.found.rebound.add(base.id)
        self._use(node, None, sure)

    def _call(self, node: ast.Call, sure: bool) -> None:
        self._use(node.func, node, sure)
        self.visit_all(node.args, sure)
        self.visit_all(node.keywords, sure)
        self._stir()

    def _use(self, node: ast.expr, call: ast.Call | None, sure: bool) -> None:
        base, parts = node, list[str]()
        while isinstance(base, ast.Attribute):
            parts.append(base.attr)
            base = base.value
        if not LOOSE.isdisjoint(parts):
            self.found.loose = True
        if not isinstance(base, ast.Name):
            self.visit(base, sure)
        elif base.id in LOOSE:
            self.found.loose = True
        elif base.id in self._followed and (parts or call is not None):
            is_sure = sure and base.id in self._sure_names
            self.found.uses.append(Use(node=node, base=base.id, parts=tuple(reversed(parts)), call=call, sure=is_sure))

    def _stir(self) -> None:
        if not self._functions:
            self._calm = False

    # -- imports --------------------------------------------------------------------------------------------------------

    def _import(self, node: ast.Import, sure: bool) -> None:
        for alias in node.names:
            # `import a.b` binds a, `import a.b as c` binds c to a.b.
            self._imported(node, alias.name, None, alias.asname or alias.name.partition(".")[0], sure)

    def _import_from(self, node: ast.ImportFrom, sure: bool) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.found.loose = True
            self._imported(node, "." * node.level + (node.module or ""), alias.name, alias.asname or alias.name, sure)

    def _imported(self, node: ast.Import | ast.ImportFrom, module: str, name: str | None, bound: str, sure: bool) -> None:
        if not LOOSE.isdisjoint((*module.split("."), name)):
            self.found.loose = True
        forgiven = self._forgiving > 0
        self.found.imports.append(
            Imported(node=node, module=module, name=name, bound=bound, sure=sure, calm=self._calm, forgiven=forgiven)
        )
        if module.partition(".")[0] in self._follow:
            self._followed.add(bound)
        if sure:
            self._sure_names.add(bound)

    # -- what may not happen --------------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, sure: bool) -> None:
        arguments = node.args
        defaults = [default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None]
        self.visit_all(defaults, sure)
        if not isinstance(node, ast.Lambda):
            self.found.rebound.add(node.name)
            self.visit_all(node.decorator_list, sure)
            if node.decorator_list:
                self._stir()
        everyone = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.found.rebound.update(each.arg for each in everyone if each is not None)
        self._functions += 1
        self.visit_all([node.body] if isinstance(node, ast.Lambda) else node.body, False)
        self._functions -= 1

    def _class(self, node: ast.ClassDef, sure: bool) -> None:
        self.found.rebound.add(node.name)
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords], sure)
        if node.decorator_list or node.bases:
            self._stir()
        self.visit_all(node.body, False)

    def _branch(self, node: ast.If | ast.While | ast.IfExp, sure: bool) -> None:
        self.visit(node.test, sure)
        is_main = isinstance(node, ast.If) and _asks_for_main(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        rest = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        self.visit_all(body, sure and is_main)
        self.visit_all(rest, False)

    def _first_only(self, node: ast.BoolOp, sure: bool) -> None:
        self.visit(node.values[0], sure)
        self.visit_all(node.values[1:], False)

    def _compare(self, node: ast.Compare, sure: bool) -> None:
        self.visit_all([node.left, node.comparators[0]], sure)
        self.visit_all(node.comparators[1:], False)

    def _loop(self, node: ast.For | ast.AsyncFor, sure: bool) -> None:
        self.visit(node.iter, sure)
        self._stir()
        self.visit_all([node.target, *node.body, *node.orelse], False)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, sure: bool) -> None:
        self.visit(node.generators[0].iter, sure)
        for number, each in enumerate(node.generators):
            self.visit_all([each.target, *each.ifs, *([each.iter] if number else [])], False)
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], False)

    def _with(self, node: ast.With | ast.AsyncWith, sure: bool) -> None:
        self.visit(node.items[0].context_expr, sure)
        for item in node.items:
            self.visit_all([item.context_expr] if item is not node.items[0] else [], False)
            self.visit_all([item.optional_vars] if item.optional_vars else [], False)
        self._stir()
        self.visit_all(node.body, False)  # a context manager may swallow what is raised

    def _try(self, node: ast.Try, _sure: bool) -> None:
        forgives = any(_forgives(handler) for handler in node.handlers)
        self._forgiving += forgives
        self.visit_all(node.body, False)
        self._forgiving -= forgives
        for handler in node.handlers:
            if handler.name:
                self.found.rebound.add(handler.name)
        self.visit_all([*node.handlers, *node.orelse, *node.finalbody], False)

    def _match(self, node: ast.Match, sure: bool) -> None:
        self.visit(node.subject, sure)
        self.visit_all(node.cases, False)

    def _captured(self, node: ast.MatchAs | ast.MatchStar, _sure: bool) -> None:
        if node.name:
            self.found.rebound.add(node.name)
        self._inside(node, False)

    def _assert(self, node: ast.Assert, sure: bool) -> None:
        self.visit(node.test, sure)
        self.visit_all([node.msg] if node.msg else [], False)

    def _leave(self, node: ast.Return | ast.Raise, sure: bool) -> None:
        self._inside(node, sure)
        if not self._functions:
            self._left = True

    def _declared(self, node: ast.Global | ast.Nonlocal, _sure: bool) -> None:
        self.found.rebound.update(node.names)

    def _subscript(self, node: ast.Subscript, sure: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._stir()
        self._inside(node, sure)

    def _awaited(self, node: ast.Await, sure: bool) -> None:
        self._stir()
        self._inside(node, sure)


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    # Contexts and operators hold nothing that could be named, and are a third of all nodes.
    return tuple(name for name in kind._fields if name not in ("ctx", "op", "ops", "kind", "type_comment"))


def _forgives(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in _FORGIVING) for kind in kinds)


def _asks_for_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``, which is true for every program here."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id != "__name__":
        return False
    other = test.comparators[0]
    return isinstance(test.ops[0], ast.Eq) and isinstance(other, ast.Constant) and other.value == "__main__"
