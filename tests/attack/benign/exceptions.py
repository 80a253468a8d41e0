class AppError(Exception):
    pass
def risky(n):
    try:
        return 10 / n
    except ZeroDivisionError as error:
        raise AppError("no") from error
    finally:
        print("done", n)
out = []
for n in (2, 0):
    try:
        out.append(risky(n))
    except AppError as error:
        out.append(f"{error} <- {type(error.__cause__).__name__}")
try:
    raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
except* ValueError as group:
    out.append(len(group.exceptions))
except* TypeError:
    pass
out
# expect: [5.0, "no <- ZeroDivisionError", 1]
