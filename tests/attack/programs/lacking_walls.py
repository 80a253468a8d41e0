# A machine that lacks something: refuse some system calls for this process and all it starts, then start a confined server.
# argv: JSON {"deny": {name: errno}, "state", "server": {...}}. Prints the server's row, and whether the server ever ran.
import asyncio
import ctypes
import json
import os
import struct
import sys

from gristmill.config.tree import load_config
from gristmill.upstream.execution_callers import ExecutionCallers
from gristmill.runtime.open.open_servers import open_servers
from gristmill.sandbox.linux import kernel

order = json.loads(sys.argv[1])


def refuse(numbers):
    program = [struct.pack("<HBBI", 0x20, 0, 0, 0)]
    for number, code in numbers:
        program += [struct.pack("<HBBI", 0x15, 0, 1, number), struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | code)]
    program.append(struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000))
    code = b"".join(program)
    buffer = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    assert libc.prctl(22, 2, header, 0, 0) == 0, os.strerror(ctypes.get_errno())


if order["deny"]:
    refuse([(kernel.NUMBERS[name], code) for name, code in order["deny"].items()])


async def main():
    config = load_config(None, store={"path": order["state"]}, servers={"pry": order["server"]})
    async with open_servers(config, {}, ExecutionCallers()) as upstreams:
        await upstreams["pry"].wait_until_settled()
        status = upstreams["pry"].status
        return {"state": status.state, "error": status.error, "confined": status.confined}


print(json.dumps(asyncio.run(main())))
