"""A new ``python3 -I -c`` per run: no isolation, the floor of every design that starts an interpreter."""

import sys

import speak
from process import ProcessPeer

if __name__ == "__main__":
    speak.main(ProcessPeer([sys.executable, "-I"]), notes="a new process per run; no isolation; tools over its pipes")
