"""``python -m examples.homeiq.wishes "turn the porch light on ..."``: one wish, answered with a gateway of its own."""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from examples.homeiq.automation import Automations
from examples.homeiq.stored import chosen_records
from examples.homeiq.wishes.wish_chain import WishChain
from examples.homeiq.wishes.wish_route import MODEL, open_model
from examples.opening import app_config
from gristmill import BlockingRuntime


def main() -> int:
    """Prints the automation, and what it cost."""
    parser = argparse.ArgumentParser(prog="python -m examples.homeiq.wishes", description=__doc__)
    parser.add_argument("wish")
    parser.add_argument("-m", "--model", default=os.environ.get(MODEL), help=f"such as openai:gpt-5-mini (default: {MODEL})")
    chosen = parser.parse_args()
    if not chosen.model:
        parser.error(f"name a model with -m or {MODEL}")
    with tempfile.TemporaryDirectory(prefix="gristmill-homeiq-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        with BlockingRuntime(app_config("homeiq", state=Path(folder))) as runtime:
            chain = WishChain(runtime, open_model(chosen.model), Automations(chosen_records(None)))
            found = asyncio.run(chain.answer(chosen.wish))
    print(found["answer"], end="\n\n")
    if found["yaml"]:
        print(found["yaml"])
    print({name: found[name] for name in ("mode", "fallback", "problem", "attempts", "tokens")}, file=sys.stderr)
    return 0 if found["yaml"] or found["mode"] == "text" else 1


if __name__ == "__main__":
    raise SystemExit(main())
