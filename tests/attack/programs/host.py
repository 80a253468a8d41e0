# A gateway in a process of its own, under load, for the kill tests. argv: state folder, level, number of callers.
# Prints one JSON line when everything is running: the pids of the keeper and of the template, and the cgroup folders.
import asyncio
import json
import sys

from gristmill.config.tree import load_config
from gristmill.runtime.build import open_rooms
from gristmill.sandbox.linux import process_tree as tree
from gristmill.runtime.runtime import Runtime

state, level, callers = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROGRAMS = [
    "while True: pass",
    "import time\ntime.sleep(60)",
    "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        break\nos.setsid() if os.getpid() != 1 else None\nwhile True: pass",
    "open('/tmp/x', 'wb').write(bytes(5 << 20))\nimport time\ntime.sleep(60)",
    "print('x' * 1000)\n1",
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)",
]


async def call(runtime, number):
    while True:
        try:
            session = f"kept-{number}" if number % 3 == 0 else None
            await runtime.execute(PROGRAMS[number % len(PROGRAMS)], session=session, limits={"seconds": 5})
        except Exception as error:  # the test kills what we stand on
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=sys.stderr, flush=True)
            await asyncio.sleep(0.05)


async def main():
    config = load_config(None, store={"path": state}, sandbox={"isolation": level, "warm": 3})
    async with open_rooms(config, {}) as rooms:
        runtime = Runtime(rooms)
        tasks = [asyncio.create_task(call(runtime, number)) for number in range(callers)]
        await asyncio.sleep(0.3)
        pool = rooms.pool
        keeper = pool._template._keeper.pid
        print(json.dumps({"keeper": keeper, "template": tree.list_children(keeper), "cgroups": pool.cgroups.unique_folders()}), flush=True)
        loop = asyncio.get_running_loop()
        line = await loop.run_in_executor(None, sys.stdin.readline)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if line.strip() == "again":
            for _ in range(3):  # a child that waited may be dying of its template's death: that run is honestly told as crashed
                outcome = await runtime.execute("6 * 7")
                if outcome.success:
                    break
            print(json.dumps({"result": outcome.result, "status": outcome.status}), flush=True)


asyncio.run(main())
