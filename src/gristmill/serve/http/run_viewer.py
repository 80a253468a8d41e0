"""Says which runs a caller of the HTTP service may see."""

from gristmill.runs.run_registry import RunViewer
from gristmill.serve.access_tokens import Principal


def build_viewer(who: Principal) -> RunViewer:
    """Returns the viewer that ``who`` is: of its own runs, or with the scope ``read`` or ``admin`` of all runs of its tenant."""
    return RunViewer(identity=who.identity, whole_tenant=not who.scopes.isdisjoint({"read", "admin"}))
