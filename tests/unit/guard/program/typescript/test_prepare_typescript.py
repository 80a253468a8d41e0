"""A program in TypeScript becomes the body of one function, line for line."""

import pytest

from gristmill.guard.program.typescript.prepare_typescript import prepare_typescript

HEAD = "export default async function ($: any) {  "


def prepared(code: str, **options: bool) -> str:
    """The body that the program became, without the lines around it."""
    text = prepare_typescript(code, servers={"pam"}, **options)
    assert text.startswith("export default async function ($: any) {")
    assert text.endswith("\n}")
    return text.removeprefix("export default async function ($: any) {").removesuffix("\n}").strip()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1 + 1", "return (1 + 1)"),
        ("const a = 1;\na;", "const a = 1;\nreturn (a);"),
        ("if (x) { f() }", "if (x) { f() }"),
        ("f() // last", "return (f()) // last"),
        ("return 5", "return 5"),
        ("export const a = 1", "const a = 1"),
        ("export default a", "return (a)"),
        ("export { a }", ""),
        ('import { getX } from "./servers/pam";\ngetX({})', 'const getX = $.server("pam")["getX"];\nreturn (getX({}))'),
        ('import { a as b } from "servers/pam"', 'const b = $.server("pam")["a"];'),
        ('import * as p from "./servers/pam/index.ts"', 'const p = $.server("pam");'),
        ('import getX from "./servers/pam/getX.ts"', 'const getX = $.tool("pam", "getX")["default"];'),
        ('import { getX } from "../servers/pam/getX"', 'const getX = $.tool("pam", "getX")["getX"];'),
        ('import { callTool } from "./browser-code"', 'const callTool = $.client["callTool"];'),
        ('import { list } from "./gh-code/issues"', 'const list = $.server("gh-code")["list"];'),
        ('import path from "path"', 'const path = (await import("node:path"))["default"];'),
        ('import _ from "lodash"', 'const _ = $.missing("lodash")["default"];'),
        ('import type { X } from "./x"', ""),
        (
            'import {\n  a,\n  b,\n} from "./servers/pam";\nb',
            'const a = $.server("pam")["a"], b = $.server("pam")["b"];\n\n\n\nreturn (b)',
        ),
    ],
)
def test_a_statement_becomes(code: str, expected: str) -> None:
    assert prepared(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("const a: number = 1, b = 2;", ";(a = 1), (b = 2);"),
        ("let a;", ";(a = undefined);"),
        ("const { a, b: [c = 1], ...d }: any = f();", ";({ a, b: [c = 1], ...d } = f());"),
        ("function f(x: number) { return x }", "function f(x: number) { return x }"),
        ("class A {}", "class A {} globalThis.A = A;"),
        ("for (const x of y) { const z = x }", "for (const x of y) { const z = x }"),
        ('import { getX } from "./servers/pam"', ';(getX = $.server("pam")["getX"]);'),
    ],
)
def test_in_a_session_names_outlive_the_program(code: str, expected: str) -> None:
    assert prepared(code, keeps_names=True).endswith(expected)


def test_names_of_patterns_are_declared_before_they_are_assigned() -> None:
    text = prepared("const { a, b: [c = 1], ...d } = f();", keeps_names=True)
    assert [f'"{name}" in globalThis' in text for name in "abcd"] == [True, False, True, True]
    assert "globalThis.g = g;" in prepared("function g() {}", keeps_names=True)


@pytest.mark.parametrize("keeps_names", [False, True])
def test_lines_keep_their_numbers(keeps_names: bool) -> None:
    lines = ["import {", "  a,", '} from "./servers/pam";', "const x:", "  number =", "  1;", "throw new Error();"]
    text = prepare_typescript("\n".join(lines), keeps_names=keeps_names)
    assert text.split("\n").index("throw new Error();") == 6


def test_servers_and_tools_that_are_named_without_an_import_are_found() -> None:
    text = prepared("pam.list({}); mcp__git__git_log({}); x.pam; 1")
    assert 'const pam = globalThis.pam ?? $.server("pam");' in text
    assert 'const mcp__git__git_log = globalThis.mcp__git__git_log ?? $.named("git.git_log");' in text


@pytest.mark.parametrize(
    "code", ["const pam = 1; pam.x", "function f(pam: any) { return pam.x }", 'import pam from "./servers/pam"; pam.x()']
)
def test_the_names_of_a_program_win(code: str) -> None:
    assert "?? $.server" not in prepared(code)


@pytest.mark.parametrize("code", ["", "   ", "const = ;", "}", "`${", "/*", "import", "\ud800", "x" * 10_000])
def test_nonsense_is_prepared_and_left_to_the_engine(code: str) -> None:
    assert prepare_typescript(code).startswith(HEAD.strip())
