import sys, importlib
open("helper_made_here.py", "w").write("def double(x):\n    return 2 * x\n")
importlib.invalidate_caches()
if "/workspace" not in sys.path and "" not in sys.path:
    sys.path.append(".")
import helper_made_here
helper_made_here.double(21)
# expect: 42
