"""``python -m bench.models``: a real model answers the tasks three ways. ``make bench-models`` runs it and writes the page.

An endpoint is any OpenAI-compatible one: GRISTMILL_MODEL_URL (such as ``https://host/v1``), GRISTMILL_MODEL_KEY and
GRISTMILL_MODEL_NAME. Without a URL a small local model is installed into ``.tools/model`` and served. Every result is saved at
once under ``bench/out/models/LABEL``, so that a run that was stopped goes on where it was. Temperature 0, one fixed seed.
"""

import argparse
import json
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
from examples.opening import ROOT

from bench.models.endpoint import SEED, Endpoint
from bench.models.local_model import NAME, NoLocalModel, serve_model
from bench.models.model_loop import Allowed, run_task
from bench.models.model_report import summarize, write_table
from bench.models.model_tasks import SIX, ModelTask, list_example_tasks, list_recorded_tasks
from bench.models.toolboxes import ARMS, open_toolbox
from bench.models.which_source import describe_source

OUT = ROOT / "bench" / "out" / "models"
REQUEST_SECONDS = 3_600.0
"""How long one request may take: a small model on a busy machine is slow."""


def choose_tasks(chosen: argparse.Namespace) -> list[ModelTask]:
    """Returns the tasks that were asked for, examples first."""
    tasks = list_example_tasks()
    if chosen.recorded:
        tasks += list_recorded_tasks(chosen.recorded, chosen.recorded_tasks, SEED)
    if chosen.tasks:
        names = {name for one in chosen.tasks.split(",") for name in (SIX if one == "six" else (one,))}
        unknown = names - {task.id for task in tasks} - {task.place for task in tasks}
        if unknown:
            sys.exit(f"no such task: {', '.join(sorted(unknown))}")
        tasks = [task for task in tasks if task.id in names or task.place in names]
    return tasks[: chosen.limit]


async def answer_tasks(chosen: argparse.Namespace, tasks: list[ModelTask], url: str, folder: Path) -> None:
    """Lets the model answer every task in every way that is not answered yet."""
    key = os.environ.get("GRISTMILL_MODEL_KEY")
    endpoint = Endpoint(url, model=chosen.model, key=key, seconds=REQUEST_SECONDS, most_tokens=chosen.max_tokens)
    total = len(tasks) * len(chosen.arms)
    try:
        for place in dict.fromkeys(task.place for task in tasks):
            wanted = [
                (task, arm)
                for arm in chosen.arms  # one way after another: an endpoint's prompt cache serves the next task too
                for task in tasks
                if task.place == place and not _get_file(folder, task.id, arm).exists()
            ]
            if not wanted:
                continue
            async with open_toolbox(place, source=chosen.source, recorded=chosen.recorded) as box:
                for task, arm in wanted:
                    before = f"[{len(list(folder.glob('*.json'))) + 1}/{total}] {task.id} {arm}"
                    found = await run_task(
                        endpoint,
                        box,
                        arm,
                        task,
                        Allowed(requests=chosen.requests, protocol=chosen.protocol, search_first=chosen.search_first),
                        lambda text, to=before: _tell(f"{to} {text}"),
                    )
                    _tell(f"{before}: {'right' if found['is_right'] else found['failure']}")
                    if found["failure"] == "endpoint":
                        sys.exit(f"the endpoint fails: {found['why']}\nRun the same command again to go on from here.")
                    _write(_get_file(folder, task.id, arm), found)
    finally:
        await endpoint.close()


def _get_file(folder: Path, task: str, arm: str) -> Path:
    return folder / f"{task}.{arm}.json"


def _write(file: Path, document: Any) -> None:
    """Writes a file whole or not at all: a run may be stopped at any time."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    part.replace(file)


def _tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _check_same_run(folder: Path, about: dict[str, Any]) -> None:
    """Refuses to mix results of different models, sources or settings under one label."""
    file = folder / "about" / "run.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and (there := json.loads(file.read_text())) != about:
        sys.exit(
            f"{folder} holds results of another run:\n{there}\nis not\n{about}\nChoose another --label, or delete the folder."
        )
    _write(file, about)


def parse_arguments() -> argparse.Namespace:
    """Reads the options."""
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__)
    parser.add_argument("--tasks", help="ids, or pam, homeiq, omniops, workbench, or six; separated by commas; default is all")
    parser.add_argument("--arms", default=",".join(ARMS), help="direct, search, code; default is all")
    parser.add_argument("--limit", type=int, help="at most so many tasks")
    parser.add_argument("--requests", type=int, default=8, help="requests that a task may take (8)")
    parser.add_argument("--max-tokens", type=int, default=500, help="tokens that the model may write per request (500)")
    parser.add_argument("--protocol", choices=("tools", "text"), help="how tools are called; default is tools, text if local")
    parser.add_argument(
        "--search-first", action=argparse.BooleanOptionalAction,
        help="make the first search for the model, with the user's words (search and code); default is yes if local",
    )  # fmt: skip
    parser.add_argument("--label", default="now", help="name of this run, and of its folder under bench/out/models")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of all runs; default is bench/out/models")
    parser.add_argument("--source", type=Path, default=ROOT, help="checkout whose gateway is measured; default is this one")
    parser.add_argument("--recorded", type=Path, default=os.environ.get("GRISTMILL_RECORDED"), help="folder of recorded tasks")
    parser.add_argument("--recorded-tasks", type=int, default=100, help="how many of them (100)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of the local model")
    chosen = parser.parse_args()
    chosen.arms = chosen.arms.split(",")
    if unknown := set(chosen.arms) - set(ARMS):
        parser.error(f"no such arm: {', '.join(sorted(unknown))}; there are {', '.join(ARMS)}")
    chosen.recorded = Path(chosen.recorded) if chosen.recorded else None
    chosen.model = os.environ.get("GRISTMILL_MODEL_NAME", NAME)
    is_local = not os.environ.get("GRISTMILL_MODEL_URL")
    chosen.protocol = chosen.protocol or ("text" if is_local else "tools")
    chosen.search_first = is_local if chosen.search_first is None else chosen.search_first
    return chosen


def main() -> None:
    """Answers, prints the table, writes the document."""
    chosen = parse_arguments()
    tasks, folder = choose_tasks(chosen), chosen.out / chosen.label
    if not chosen.recorded:
        _tell("without --recorded FOLDER (or GRISTMILL_RECORDED) only the example tasks are answered")
    url = os.environ.get("GRISTMILL_MODEL_URL")
    about = {"model": chosen.model, "source": describe_source(chosen.source), "requests": chosen.requests, "seed": SEED,
             "max_tokens": chosen.max_tokens, "protocol": chosen.protocol, "search_first": chosen.search_first,
             "is_local": url is None}  # fmt: skip
    _check_same_run(folder, about)
    with ExitStack() as stack:
        try:
            url = url or stack.enter_context(serve_model(_tell, threads=chosen.threads))
            anyio.run(answer_tasks, chosen, tasks, url, folder)
        except NoLocalModel as error:
            sys.exit(f"{error}\nGive an endpoint instead: GRISTMILL_MODEL_URL, GRISTMILL_MODEL_KEY, GRISTMILL_MODEL_NAME.")
        except KeyboardInterrupt:
            sys.exit("\nStopped. Run the same command again to go on from here.")
        finally:
            document = summarize(folder)
            _write(chosen.out / f"{chosen.label}.json", document)
            print(write_table(document))


if __name__ == "__main__":
    main()
