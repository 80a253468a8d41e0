"""Answers, speed and weight of one CEL library on the conditions of `bench.conditions`; runs in the library's own environment.

python cel_conditions.py LIBRARY < cases.json        # writes one JSON document
python cel_conditions.py LIBRARY --deep 10000        # evaluates one condition over an argument nested that deep
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Evaluate = Callable[[dict[str, Any]], Any]


def load(library: str) -> Callable[[str], Evaluate]:
    """A function that compiles a condition on ``args``; what it compiles gives true, false, another value, or raises."""
    if library == "cel-python":
        import celpy

        environment = celpy.Environment()

        def compile_pure(text: str) -> Evaluate:
            program = environment.program(environment.compile(text))

            def evaluate(arguments: dict[str, Any]) -> Any:
                value = program.evaluate({"args": celpy.json_to_cel(arguments)})
                return bool(value) if isinstance(value, celpy.celtypes.BoolType) else value

            return evaluate

        return compile_pure
    if library == "common-expression-language":
        import cel

        def compile_rust(text: str) -> Evaluate:
            program = cel.compile(text)
            return lambda arguments: program.execute({"args": arguments})

        return compile_rust
    from cel_expr_python import cel

    declared = cel.NewEnv(variables={"args": cel.Type.DYN})

    def compile_cpp(text: str) -> Evaluate:
        program = declared.compile(text)
        return lambda arguments: program.eval(data={"args": arguments}).value()

    return compile_cpp


def answer(compile_text: Callable[[str], Evaluate], text: str, arguments: dict[str, Any]) -> bool | None:
    """True, false, or None for anything else: an error or a value that is not a truth value."""
    try:
        found = compile_text(text)(arguments)
    except Exception:
        return None
    return found if isinstance(found, bool) else None


def microseconds(action: Evaluate, arguments: dict[str, Any], rounds: int) -> float:
    """CPU time of one evaluation, best of five."""
    times: list[float] = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(rounds):
            action(arguments)
        times.append((time.process_time() - started) / rounds * 1e6)
    return round(min(times), 1)


def resident_mb() -> float:
    """The memory of this process now; the kernel's record of the most would include the parent's."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def main() -> None:
    started, before = time.process_time(), resident_mb()
    compile_text = load(sys.argv[1])
    loaded = time.process_time() - started
    memory = resident_mb() - before
    if "--deep" in sys.argv:
        deep: list[Any] = []
        for _ in range(int(sys.argv[3])):
            deep = [deep]
        print(answer(compile_text, "args.amount < 100", {"amount": 5, "deep": deep}))
        return
    asked = json.load(sys.stdin)
    timed = compile_text(asked["timed"])
    answers = [answer(compile_text, text, arguments) for text, arguments in asked["cases"]]
    print(
        json.dumps(
            {
                "answers": answers,
                "import_ms": round(loaded * 1e3, 1),
                "import_mb": round(memory, 1),
                "evaluation_us": microseconds(timed, asked["small"], 2_000),
                "large_arguments_us": microseconds(timed, asked["large"], 1),
            }
        )
    )


if __name__ == "__main__":
    main()
