# what: custom exceptions, raise from, try, else, finally
# expect: [1, "ok", "-", "OutOfStock: stone: only 2 left", "-", "LookupError: no wheel", "-"]
class OutOfStock(Exception):
    def __init__(self, item, left):
        super().__init__(f"{item}: only {left} left")
        self.left = left


def take(item, wanted, stock={"stone": 2}):
    try:
        left = stock[item]
    except KeyError as error:
        raise LookupError(f"no {item}") from error
    if wanted > left:
        raise OutOfStock(item, left)
    return left - wanted


log = []
for item, wanted in [("stone", 1), ("stone", 5), ("wheel", 1)]:
    try:
        log.append(take(item, wanted))
    except (OutOfStock, LookupError) as error:
        log.append(f"{type(error).__name__}: {error}")
    else:
        log.append("ok")
    finally:
        log.append("-")
log
