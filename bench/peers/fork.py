"""A bare ``os.fork`` of an interpreter with the same modules loaded: no isolation, the floor of every design that forks."""

import asyncio
import importlib
import os
import sys

import speak

MODULES = (
    "argparse asyncio collections csv dataclasses datetime decimal enum fractions functools hashlib heapq itertools json logging"
)
MODULES += " math pathlib random re sqlite3 statistics string subprocess tempfile textwrap threading typing uuid zipfile zoneinfo"


class Fork(speak.Peer):
    """Parent and child speak over one pipe; the child's output is read to its end."""

    async def open(self):
        for name in MODULES.split():
            importlib.import_module(name)

    async def fresh(self, code):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, 1)
            exec(compile(code, "<code>", "exec"), {})
            sys.stdout.flush()
            os._exit(0)
        os.close(write)
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()
        loop.add_reader(read, lambda: arrived.done() or arrived.set_result(None))
        await arrived
        loop.remove_reader(read)
        with open(read, "rb") as pipe:  # to its end: an unbuffered print comes in two pieces
            assert pipe.read() == b"2\n"
        os.waitpid(child, 0)


if __name__ == "__main__":
    speak.main(Fork(), notes="no isolation at all; the time includes the child's death")
