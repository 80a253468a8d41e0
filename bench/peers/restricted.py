"""RestrictedPython's compiler and guards, in a new process per run."""

import json
import sys

import speak


class Restricted(speak.Peer):
    """The guards that its documentation names, safe and utility builtins, imports of harmless modules allowed."""

    async def fresh(self, code):
        await self.snippet(code)

    async def snippet(self, code):
        text = speak.rename_tools(code, awaited=False)
        command = [sys.executable, "-I", str(speak.HERE / "restricted_child.py"), str(speak.HERE), speak.packages_folder()]
        return json.loads(await speak.run_process(command, text.encode()))["result"]


if __name__ == "__main__":
    speak.main(Restricted(), notes="a new process per run, tools as functions inside it; restricted by compilation only")
