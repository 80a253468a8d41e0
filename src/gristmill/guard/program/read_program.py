"""Reads a program's syntax tree in one pass: what it imports, where it uses the imported names, and what every run reaches.

An import or a use is *sure* when every run reaches it: it stands at the top level, outside branches, loops, functions and
``try``, before anything that could end the program. All other code may never run, so a problem in it is never certain.
"""

import ast
from collections.abc import Callable, Container, Iterable
from functools import cache
from typing import Any, cast

from msgspec import Struct, field

UNPREDICTABLE_NAMES = frozenset(
    "exec eval globals locals vars setattr delattr __import__ importlib import_module modules meta_path path_hooks "
    "exit quit _exit SystemExit abort kill killpg raise_signal execv execve execl execvp os_exit patch settrace setprofile "
    "__builtins__ builtins ctypes gc".split()
)
"""Names by which a program can change what other names mean, or end early without an error: with one of them nothing is sure."""

_CATCHING_CLASSES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


class ImportedName(Struct, frozen=True, kw_only=True):
    """One import: ``from module import name as bound``, or ``import module as bound`` where ``name`` is None."""

    node: ast.Import | ast.ImportFrom
    module: str
    name: str | None
    bound: str
    sure: bool
    nothing_ran_before: bool
    """Whether no code ran before the import that could have created a module for it."""
    failure_caught: bool
    """Whether the import is in a ``try`` that catches its failure."""


class NameUse(Struct, frozen=True, kw_only=True):
    """One use of an imported name: ``base.parts[0].parts[1]``, with the call if it is called."""

    node: ast.expr
    base: str
    parts: tuple[str, ...]
    call: ast.Call | None
    sure: bool
    lazy: bool = False
    """Whether no import has bound the name before: it may be one that the program does not define."""


class ProgramReading(Struct):
    """What was found in a program's syntax tree."""

    imports: list[ImportedName] = field(default_factory=list[ImportedName])
    uses: list[NameUse] = field(default_factory=list[NameUse])
    rebound: set[str] = field(default_factory=set[str])
    """Names that are assigned by something other than an import."""
    used: set[str] = field(default_factory=set[str])
    """Candidates that are used at all."""
    defined: set[str] = field(default_factory=set[str])
    """Names that the module itself defines, by whatever statement."""
    unpredictable: bool = False
    """Whether the program uses a name that makes it unpredictable, so that nothing in it is sure."""


def read_program(tree: ast.Module, follow: frozenset[str], candidates: Container[str] = ()) -> ProgramReading:
    """Reads the whole tree; it records the uses of names that are imported from the modules in ``follow``, and of candidates.

    Raises:
        RecursionError: the tree is nested too deep.
    """
    reader = _Reader(follow, candidates)
    reader.visit_all(tree.body, True)
    return reader.found


class _Reader:
    def __init__(self, follow: frozenset[str], candidates: Container[str]) -> None:
        self.found = ProgramReading()
        self._follow, self._candidates = follow, candidates
        self._followed: set[str] = set()
        self._may_have_ended = False  # after a top-level return or raise: the code below it may never run
        self._nothing_ran_before = True
        self._function_depth = 0
        self._catching_depth = 0
        self._sure_names: set[str] = set()
        self._visitors = self._build_visitors()

    def _build_visitors(self) -> dict[type[ast.AST], Callable[[Any, bool], None]]:
        return {
            ast.Name: self._visit_name, ast.Attribute: self._visit_attribute, ast.Call: self._visit_call,
            ast.Import: self._visit_import, ast.ImportFrom: self._visit_import_from, ast.FunctionDef: self._visit_function,
            ast.AsyncFunctionDef: self._visit_function, ast.Lambda: self._visit_function, ast.ClassDef: self._visit_class,
            ast.If: self._visit_branch, ast.While: self._visit_branch, ast.IfExp: self._visit_branch,
            ast.BoolOp: self._visit_bool_op, ast.Compare: self._visit_compare, ast.For: self._visit_loop,
            ast.AsyncFor: self._visit_loop, ast.ListComp: self._visit_comprehension, ast.SetComp: self._visit_comprehension,
            ast.GeneratorExp: self._visit_comprehension, ast.DictComp: self._visit_comprehension, ast.With: self._visit_with,
            ast.AsyncWith: self._visit_with, ast.Try: self._visit_try, ast.TryStar: self._visit_try, ast.Match: self._visit_match,
            ast.MatchAs: self._visit_capture, ast.MatchStar: self._visit_capture, ast.Assert: self._visit_assert,
            ast.Return: self._visit_exit, ast.Raise: self._visit_exit, ast.Global: self._visit_declaration,
            ast.Nonlocal: self._visit_declaration, ast.Subscript: self._visit_subscript, ast.Await: self._visit_await,
        }  # fmt: skip

    def visit_all(self, nodes: Iterable[ast.AST], sure: bool) -> None:
        for node in nodes:
            self.visit(node, sure)

    def visit(self, node: ast.AST, sure: bool) -> None:
        if type(node) is ast.Constant:
            return
        visit_special = self._visitors.get(type(node))
        if visit_special is not None:
            visit_special(node, sure and not self._may_have_ended)
        else:
            self._visit_children(node, sure)

    def _visit_children(self, node: ast.AST, sure: bool) -> None:
        for name in _list_child_fields(type(node)):
            value: object = getattr(node, name, None)
            if isinstance(value, list):
                for each in cast("list[object]", value):
                    if isinstance(each, ast.AST):
                        self.visit(each, sure)
            elif isinstance(value, ast.AST):
                self.visit(value, sure)

    # -- names ----------------------------------------------------------------------------------------------------------

    def _visit_name(self, node: ast.Name, sure: bool) -> None:
        if isinstance(node.ctx, ast.Load):
            self._record_use(node, None, sure)
        else:
            self._note_binding(node.id)

    def _note_binding(self, name: str) -> None:
        self.found.rebound.add(name)
        if not self._function_depth:
            self.found.defined.add(name)

    def _visit_attribute(self, node: ast.Attribute, sure: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._note_that_code_ran()
            if isinstance(base := _find_base(node), ast.Name):
                self.found.rebound.add(base.id)
        self._record_use(node, None, sure)

    def _visit_call(self, node: ast.Call, sure: bool) -> None:
        self._record_use(node.func, node, sure)
        self.visit_all(node.args, sure)
        self.visit_all(node.keywords, sure)
        self._note_that_code_ran()

    def _record_use(self, node: ast.expr, call: ast.Call | None, sure: bool) -> None:
        base, parts = node, list[str]()
        while isinstance(base, ast.Attribute):
            parts.append(base.attr)
            base = base.value
        if not UNPREDICTABLE_NAMES.isdisjoint(parts):
            self.found.unpredictable = True
        if not isinstance(base, ast.Name):
            self.visit(base, sure)
        elif base.id in UNPREDICTABLE_NAMES:
            self.found.unpredictable = True
        elif base.id in self._followed:
            if parts or call is not None:
                is_sure = sure and base.id in self._sure_names
                self.found.uses.append(NameUse(node=node, base=base.id, parts=tuple(reversed(parts)), call=call, sure=is_sure))
        elif base.id in self._candidates:
            self.found.used.add(base.id)
            if parts or call is not None:
                use = NameUse(node=node, base=base.id, parts=tuple(reversed(parts)), call=call, sure=sure, lazy=True)
                self.found.uses.append(use)

    def _note_that_code_ran(self) -> None:
        if not self._function_depth:
            self._nothing_ran_before = False

    # -- imports --------------------------------------------------------------------------------------------------------

    def _visit_import(self, node: ast.Import, sure: bool) -> None:
        for alias in node.names:
            # `import a.b` binds a, `import a.b as c` binds c to a.b.
            self._record_import(node, alias.name, None, alias.asname or alias.name.partition(".")[0], sure)

    def _visit_import_from(self, node: ast.ImportFrom, sure: bool) -> None:
        for alias in node.names:
            if alias.name == "*" and (node.module or "").partition(".")[0] != "servers":
                self.found.unpredictable = True
            self._record_import(node, "." * node.level + (node.module or ""), alias.name, alias.asname or alias.name, sure)

    def _record_import(self, node: ast.Import | ast.ImportFrom, module: str, name: str | None, bound: str, sure: bool) -> None:
        if not UNPREDICTABLE_NAMES.isdisjoint((*module.split("."), name)):
            self.found.unpredictable = True
        self.found.imports.append(
            ImportedName(
                node=node, module=module, name=name, bound=bound, sure=sure, nothing_ran_before=self._nothing_ran_before,
                failure_caught=self._catching_depth > 0,
            )
        )  # fmt: skip
        if not self._function_depth:
            self.found.defined.add(bound)
        if module.partition(".")[0] in self._follow:
            self._followed.add(bound)
        if sure:
            self._sure_names.add(bound)

    # -- code that may not run ------------------------------------------------------------------------------------------

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, sure: bool) -> None:
        arguments = node.args
        defaults = [default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None]
        self.visit_all(defaults, sure)
        if not isinstance(node, ast.Lambda):
            self._note_binding(node.name)
            self.visit_all(node.decorator_list, sure)
            if node.decorator_list:
                self._note_that_code_ran()
        everyone = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self.found.rebound.update(each.arg for each in everyone if each is not None)
        self._function_depth += 1
        self.visit_all([node.body] if isinstance(node, ast.Lambda) else node.body, False)
        self._function_depth -= 1

    def _visit_class(self, node: ast.ClassDef, sure: bool) -> None:
        self._note_binding(node.name)
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords], sure)
        if node.decorator_list or node.bases:
            self._note_that_code_ran()
        self.visit_all(node.body, False)

    def _visit_branch(self, node: ast.If | ast.While | ast.IfExp, sure: bool) -> None:
        self.visit(node.test, sure)
        is_main = isinstance(node, ast.If) and _is_main_check(node.test)
        body = node.body if isinstance(node.body, list) else [node.body]
        rest = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        self.visit_all(body, sure and is_main)
        self.visit_all(rest, False)

    def _visit_bool_op(self, node: ast.BoolOp, sure: bool) -> None:
        self.visit(node.values[0], sure)
        self.visit_all(node.values[1:], False)

    def _visit_compare(self, node: ast.Compare, sure: bool) -> None:
        self.visit_all([node.left, node.comparators[0]], sure)
        self.visit_all(node.comparators[1:], False)

    def _visit_loop(self, node: ast.For | ast.AsyncFor, sure: bool) -> None:
        self.visit(node.iter, sure)
        self._note_that_code_ran()
        self.visit_all([node.target, *node.body, *node.orelse], False)

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, sure: bool) -> None:
        self.visit(node.generators[0].iter, sure)
        for number, each in enumerate(node.generators):
            self.visit_all([each.target, *each.ifs, *([each.iter] if number else [])], False)
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], False)

    def _visit_with(self, node: ast.With | ast.AsyncWith, sure: bool) -> None:
        self.visit(node.items[0].context_expr, sure)
        for item in node.items:
            self.visit_all([item.context_expr] if item is not node.items[0] else [], False)
            self.visit_all([item.optional_vars] if item.optional_vars else [], False)
        self._note_that_code_ran()
        self.visit_all(node.body, False)  # not sure: a context manager may suppress an exception

    def _visit_try(self, node: ast.Try, _sure: bool) -> None:
        catches = any(_catches_import_error(handler) for handler in node.handlers)
        self._catching_depth += catches
        self.visit_all(node.body, False)
        self._catching_depth -= catches
        for handler in node.handlers:
            if handler.name:
                self._note_binding(handler.name)
        self.visit_all([*node.handlers, *node.orelse, *node.finalbody], False)

    def _visit_match(self, node: ast.Match, sure: bool) -> None:
        self.visit(node.subject, sure)
        self.visit_all(node.cases, False)

    def _visit_capture(self, node: ast.MatchAs | ast.MatchStar, _sure: bool) -> None:
        if node.name:
            self._note_binding(node.name)
        self._visit_children(node, False)

    def _visit_assert(self, node: ast.Assert, sure: bool) -> None:
        self.visit(node.test, sure)
        self.visit_all([node.msg] if node.msg else [], False)

    def _visit_exit(self, node: ast.Return | ast.Raise, sure: bool) -> None:
        self._visit_children(node, sure)
        if not self._function_depth:
            self._may_have_ended = True

    def _visit_declaration(self, node: ast.Global | ast.Nonlocal, _sure: bool) -> None:
        self.found.rebound.update(node.names)
        self.found.defined.update(node.names)

    def _visit_subscript(self, node: ast.Subscript, sure: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._note_that_code_ran()
        self._visit_children(node, sure)

    def _visit_await(self, node: ast.Await, sure: bool) -> None:
        self._note_that_code_ran()
        self._visit_children(node, sure)


def _find_base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


@cache
def _list_child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    # Contexts and operators contain no names, and skipping them saves a third of all nodes.
    return tuple(name for name in kind._fields if name not in ("ctx", "op", "ops", "kind", "type_comment"))


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in _CATCHING_CLASSES) for kind in kinds)


def _is_main_check(test: ast.expr) -> bool:
    """Tells whether the test is ``__name__ == "__main__"``, which is true for every program here."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id != "__name__":
        return False
    other = test.comparators[0]
    return isinstance(test.ops[0], ast.Eq) and isinstance(other, ast.Constant) and other.value == "__main__"
