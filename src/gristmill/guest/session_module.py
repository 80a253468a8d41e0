# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""``from session import kv``: values that outlive executions and restarts. Loaded by ``tool_modules.py`` on first use."""

CALLS = CALLS  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - set by ``LazyModule``, which loads this file


class SessionValues:
    """A mapping from text to JSON values that belongs to the session."""

    def __getitem__(self, key):
        found = CALLS.call_and_wait("gristmill.kv_get", {"key": key})
        if not found["found"]:
            raise KeyError(key)
        return found["value"]

    def __setitem__(self, key, value):
        CALLS.call_and_wait("gristmill.kv_set", {"key": key, "value": value})

    def __delitem__(self, key):
        if not CALLS.call_and_wait("gristmill.kv_delete", {"key": key}):
            raise KeyError(key)

    def __contains__(self, key):
        return CALLS.call_and_wait("gristmill.kv_get", {"key": key})["found"]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def get(self, key, default=None):
        """Returns the value, or ``default``."""
        found = CALLS.call_and_wait("gristmill.kv_get", {"key": key})
        return found["value"] if found["found"] else default

    def keys(self):
        """Returns every key, in order."""
        return CALLS.call_and_wait("gristmill.kv_keys", {})

    def items(self):
        """Returns every key with its value."""
        return [(key, self[key]) for key in self.keys()]

    def __repr__(self):
        return "<values of this session>"


kv = SessionValues()
