from contextlib import contextmanager, suppress, ExitStack, redirect_stdout
import io
log = []
@contextmanager
def step(name):
    log.append(f"+{name}")
    try:
        yield name.upper()
    finally:
        log.append(f"-{name}")
with ExitStack() as stack, suppress(KeyError):
    stack.enter_context(step("a"))
    {}["x"]
buffer = io.StringIO()
with redirect_stdout(buffer):
    print("caught")
[log, buffer.getvalue()]
# expect: [["+a", "-a"], "caught\n"]
