"""Serves a GGUF file with xllamacpp: ``local_server.py MODEL PORT THREADS CONTEXT PARENT``. Runs in an environment of its own."""

import importlib
import os
import sys
import time
from typing import Any


def main(model: str, port: str, threads: str, context: str, parent: str) -> None:
    """Serve until the process that started us is gone."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    wanted = xllamacpp.CommonParams()
    wanted.model.path, wanted.port, wanted.hostnames = model, int(port), ["127.0.0.1"]
    wanted.n_ctx, wanted.n_parallel = int(context), 1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = int(threads)
    wanted.use_jinja = True  # the template of the model knows tools
    served = xllamacpp.Server(wanted)
    print(served.listening_address, flush=True)
    while os.getppid() == int(parent):
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
