# A machine that lacks something: refuse some system calls for a process and all it starts, and open a gateway there.
# A line of stdin: JSON {"deny": {name: errno}, "flags": mask, "isolation", "state", "cgroups"}. Each is done in a process of its
# own, forked before anything is refused, since imports take most of a start. Prints what came of it as JSON, then "ended".
import asyncio
import ctypes
import contextlib
import importlib
import json
import os
import pkgutil
import struct
import sys
import traceback

LOAD, EQUAL, HAS_BITS, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def instruction(op, yes, no, k):
    return struct.pack("<HBBI", op, yes, no, k)


def refuse(numbers, clone, mask):
    program = [instruction(LOAD, 0, 0, 0)]
    for number, code in numbers:
        program += [instruction(EQUAL, 0, 1, number), instruction(RETURN, 0, 0, ERRNO | code)]
    for number in clone:
        program += [instruction(EQUAL, 0, 4, number), instruction(LOAD, 0, 0, 16), instruction(HAS_BITS, 0, 1, mask)]
        program += [instruction(RETURN, 0, 0, ERRNO | 1), instruction(LOAD, 0, 0, 0)]
    program.append(instruction(RETURN, 0, 0, ALLOW))
    code = b"".join(program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, header, 0, 0) == 0, os.strerror(ctypes.get_errno())  # by prctl, so that seccomp(2) may be refused


from gristmill.config.tree import load_config  # noqa: E402
from gristmill.errors import SandboxError  # noqa: E402
from gristmill.runtime.runtime import Runtime  # noqa: E402
from gristmill.sandbox.linux import kernel  # noqa: E402


async def run(order):
    sandbox = {"isolation": order["isolation"], "warm": 1, "cgroups": order.get("cgroups", "auto")}
    config = load_config(None, store={"path": order["state"]}, sandbox=sandbox)
    async with Runtime.open(config) as runtime:
        outcome = await runtime.execute(order.get("code", "6 * 7"))
        return {"opened": runtime.isolation, "isolation": outcome.isolation, "status": outcome.status, "result": outcome.result}


def answer(order):
    numbers = [(kernel.NUMBERS[name], code) for name, code in order["deny"].items()]
    clone = [kernel.NUMBERS[name] for name in ("clone", "unshare")] if order.get("flags") else []
    if numbers or clone:
        refuse(numbers, clone, order.get("flags", 0))
    try:
        print(json.dumps(asyncio.run(run(order))), flush=True)
    except SandboxError as error:
        print(json.dumps({"refused": type(error).__name__, "code": error.code, "message": error.message}), flush=True)


for room in ("catalog", "guard", "ledger", "runtime", "sandbox", "session", "shaping", "store", "upstream"):
    package = importlib.import_module(f"gristmill.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        with contextlib.suppress(ModuleNotFoundError):  # a module of an extra that is not installed
            importlib.import_module(module.name)
for line in sys.stdin:
    if (child := os.fork()) == 0:
        try:
            answer(json.loads(line))
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
