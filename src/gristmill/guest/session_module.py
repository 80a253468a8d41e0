# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""``from session import kv``: values that outlive executions and restarts. Loaded by ``tools`` when it is first used."""

CALLS = CALLS  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - put there by whoever loads this file


class KeyValues:
    """A mapping from text to JSON values that belongs to the session."""

    def __getitem__(self, key):
        found = CALLS.value("gristmill.kv_get", {"key": key})
        if not found["found"]:
            raise KeyError(key)
        return found["value"]

    def __setitem__(self, key, value):
        CALLS.value("gristmill.kv_set", {"key": key, "value": value})

    def __delitem__(self, key):
        if not CALLS.value("gristmill.kv_delete", {"key": key}):
            raise KeyError(key)

    def __contains__(self, key):
        return CALLS.value("gristmill.kv_get", {"key": key})["found"]

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def get(self, key, default=None):
        """The value, or ``default``."""
        found = CALLS.value("gristmill.kv_get", {"key": key})
        return found["value"] if found["found"] else default

    def keys(self):
        """Every key, in order."""
        return CALLS.value("gristmill.kv_keys", {})

    def items(self):
        """Every key with its value."""
        return [(key, self[key]) for key in self.keys()]

    def __repr__(self):
        return "<values of this session>"


kv = KeyValues()
