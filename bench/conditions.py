"""The conditions of the policy against three CEL libraries: the same answers? how fast, how heavy, and how safe?

    python -m bench.conditions            # a table; also written to bench/out/conditions.json
    python -m bench.conditions --json

Each library runs in its own environment under `.tools/bench`. Every case is one of tests/unit/guard/policy/test_conditions.py
that CEL can express at all; its arguments are named `args.x` there, since CEL cannot ask whether a variable is given. An error
counts as "unknown".
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.environments import OUT, python_with
from bench.machine import commit, describe
from bench.peers.cel_conditions import microseconds, resident_mb

LIBRARIES = {
    "cel-python": "cel-python==0.5.0",
    "common-expression-language": "common-expression-language==0.10.0",
    "cel-expr-python": "cel-expr-python==0.1.3",
}
DEPTHS = (500, 5_000, 10_000, 100_000)
NAN = float("nan")

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("amount < 100", "args.amount < 100", {"amount": 99.5}),
    ("amount < 100", "args.amount < 100", {}),
    ("amount < 100", "args.amount < 100", {"amount": "5"}),
    ("amount < 100", "args.amount < 100", {"amount": True}),
    ("amount < 100", "args.amount < 100", {"amount": NAN}),
    ("amount == 5", "args.amount == 5", {"amount": "5"}),
    ("amount != 5", "args.amount != 5", {"amount": "5"}),
    ("amount != 5", "args.amount != 5", {"amount": None}),
    ("amount == 5", "args.amount == 5", {"amount": 2**70}),
    ("amount == 5", "args.amount == 5", {"amount": 5, "other": 2**70}),
    ('repo in ["a"]', 'args.repo in ["a"]', {"repo": "a"}),
    ('repo in ["a"]', 'args.repo in ["a"]', {"repo": ["a"]}),
    ('repo in ["a"]', 'args.repo in ["a"]', {"repo": 1}),
    ('repo not in ["a"]', '!(args.repo in ["a"])', {"repo": 1}),
    ("dry_run", "args.dry_run", {"dry_run": "yes"}),
    ("not exists dry_run", "!has(args.dry_run)", {}),
    ("a == 1 and b == 2", "args.a == 1 && args.b == 2", {"b": 2}),
    ("a == 1 and b == 2", "args.a == 1 && args.b == 2", {"b": 3}),
    ("a == 1 or b == 2", "args.a == 1 || args.b == 2", {"b": 2}),
    ("a == 1 or b == 2", "args.a == 1 || args.b == 2", {"b": 3}),
    ('all(to) endswith "@x"', 'args.to.all(one, one.endsWith("@x"))', {"to": "a@x"}),
    ('all(to) endswith "@x"', 'args.to.all(one, one.endsWith("@x"))', {"to": ["a@x", 5]}),
    ("x == null", "args.x == null", {"x": None}),
    ("items[9] == 1", "args.items[9] == 1", {"items": [1]}),
]
TIMED = 'amount < 100 and currency == "EUR"'
TIMED_CEL = 'args.amount < 100 && args.currency == "EUR"'
SMALL: dict[str, Any] = {"amount": 5, "currency": "EUR"}
LARGE: dict[str, Any] = {**SMALL, "text": "x" * 10_000_000, "rows": [{"number": number} for number in range(20_000)]}


def measure_ours() -> dict[str, Any]:
    """The figures of our own conditions."""
    started, before = time.process_time(), resident_mb()
    from gristmill.guard.policy.conditions import Condition  # the import is what is measured

    loaded = time.process_time() - started
    memory = resident_mb() - before
    timed = Condition.parse(TIMED).holds

    deep: list[Any] = []
    for _ in range(max(DEPTHS)):
        deep = [deep]
    return {
        "answers": [Condition.parse(text).holds(arguments) for text, _, arguments in CASES],
        "import_ms": round(loaded * 1e3, 1),
        "import_mb": round(memory, 1),
        "evaluation_us": microseconds(timed, SMALL, 2_000),
        "large_arguments_us": microseconds(timed, LARGE, 100),
        "deepest": max(DEPTHS) if timed({**SMALL, "deep": deep}) is True else 0,
        "installed_mb": 0.0,
    }


def measure_library(name: str, requirement: str) -> dict[str, Any]:
    """The figures of a CEL library, in an environment of its own."""
    python = python_with(f"bench/{name}", [requirement])
    script = str(Path(__file__).parent / "peers" / "cel_conditions.py")
    asked = {"cases": [(text, arguments) for _, text, arguments in CASES], "timed": TIMED_CEL, "small": SMALL, "large": LARGE}
    ran = subprocess.run([python, script, name], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=300)
    return {**json.loads(ran.stdout), "deepest": _deepest(python, script, name), "installed_mb": _installed_mb(python)}


def _deepest(python: Path, script: str, name: str) -> int:
    """The deepest of the nestings that the process survives, whatever it answers."""
    survived = 0
    for depth in DEPTHS:
        ran = subprocess.run([python, script, name, "--deep", str(depth)], capture_output=True, timeout=120, check=False)
        if ran.returncode != 0:
            return survived
        survived = depth
    return survived


def _installed_mb(python: Path) -> float:
    """The files of the library and its dependencies; not pip and what came with it."""
    packages = next((python.parents[1] / "lib").glob("python3*")) / "site-packages"
    own = [path for path in packages.iterdir() if not path.name.startswith(("pip", "setuptools", "pkg_resources", "_distutils"))]
    files = [file for path in own for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return round(sum(file.stat().st_size for file in files if file.suffix != ".pyc") / 1e6, 1)


def main() -> int:
    """Measure, print, write."""
    machine = describe()
    figures = {"ours": measure_ours()} | {name: measure_library(name, text) for name, text in LIBRARIES.items()}
    document = {"machine": machine, "commit": commit(), "libraries": LIBRARIES, "figures": figures}
    OUT.mkdir(exist_ok=True)
    (OUT / "conditions.json").write_text(json.dumps(document, indent=1) + "\n")
    if "--json" in sys.argv:
        print(json.dumps(document, indent=1))
        return 0
    ours = figures["ours"]["answers"]
    for name, figure in figures.items():
        same = sum(one == other for one, other in zip(ours, figure["answers"], strict=True))
        print(
            f"{name:28} {same:3} of {len(CASES)} answers, {figure['evaluation_us']:7.1f} us, "
            f"with 10 MB of other arguments {figure['large_arguments_us']:9.1f} us, import {figure['import_ms']:6.1f} ms "
            f"{figure['import_mb']:5.1f} MB, installed {figure['installed_mb']:5.1f} MB, survives {figure['deepest']:,} levels"
        )
        for (text, _, arguments), our, their in zip(CASES, ours, figure["answers"], strict=True):
            if our != their:
                print(f"    {text:24} {json.dumps(arguments)[:48]:50} {our} here, {their} there")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
