"""Functions that run inside the jail for Deep Agents: the source of one is sent, with a call, as the program of a session.

They may use only the modules that are imported here as a whole, all of the standard library.
"""

import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any


def run_shell_command(command: str, seconds: float | None, most_bytes: int) -> dict[str, Any]:
    """Runs a command with the shell of the jail; its output beyond ``most_bytes`` is read and dropped."""
    arguments, script = ["-c", command], None
    if len(command.encode("utf-8", "replace")) > 100_000:  # the kernel takes 128 KiB in one argument
        descriptor, script = tempfile.mkstemp()
        with open(descriptor, "w", errors="replace") as file:
            file.write(command)
        arguments = [script]
    try:
        process = subprocess.Popen(
            ["/bin/sh", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/workspace"
        )
    except OSError as error:
        return {"no_shell": str(error)}
    assert process.stdout is not None
    output, end = process.stdout.fileno(), None if seconds is None else time.monotonic() + seconds
    kept, size, stopped = bytearray(), 0, False
    while not stopped:
        ended = process.poll() is not None
        if select.select([output], [], [], 0 if ended else 0.1)[0]:
            part = os.read(output, 65_536)
            kept += part[: most_bytes - len(kept)]
            size += len(part)
            if not part:
                break
        elif ended:  # what it left in the background may hold the pipe
            break
        stopped = end is not None and time.monotonic() > end
    if stopped:
        process.kill()
    code = process.wait()
    if script is not None:
        os.unlink(script)
    return {
        "output": bytes(kept).decode("utf-8", "replace"),
        "exit_code": 124 if stopped else code if code >= 0 else 128 - code,
        "truncated": size > len(kept),
        "stopped": stopped,
    }


def move_files(pairs: Sequence[tuple[str, str]], keep: bool) -> list[str | None]:
    """Copies each file to its target and removes it where it was, unless ``keep``; returns the error of each."""
    found: list[str | None] = []
    for origin, target in pairs:
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(origin) or os.path.isdir(target):
                raise IsADirectoryError
            shutil.copyfile(origin, target)
            found.append(None)
        except FileNotFoundError:
            found.append("file_not_found")
        except IsADirectoryError:
            found.append("is_directory")
        except (NotADirectoryError, FileExistsError, ValueError):
            found.append("invalid_path")
        except OSError as error:
            refused = isinstance(error, PermissionError) or error.errno == 30  # EROFS
            found.append("permission_denied" if refused else str(error.strerror))
        finally:
            if not keep and os.path.lexists(origin):
                os.unlink(origin)
    return found


def remove_files(paths: Sequence[str]) -> None:
    """Removes files that were handed out."""
    for path in paths:
        if os.path.lexists(path):
            os.unlink(path)
