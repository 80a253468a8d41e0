"""What a confined server may do, and how its launcher is told: by words of its command line, which need no parser."""

TYPE_CHECKING = False  # as in `typing`, whose loading would cost every start milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence


class Profile:
    """No secrets: paths with the access to them, whether there is a network, a filter, and what to say if it cannot be had."""

    __slots__ = ("filter", "network", "remedy", "rules")

    def __init__(self, *, rules: "Sequence[tuple[str, str]]", network: bool, filter: bytes, remedy: str) -> None:  # noqa: A002
        self.rules, self.network, self.filter, self.remedy = rules, network, filter, remedy

    def words(self) -> tuple[str, ...]:
        """The profile for a command line; the server's own command follows."""
        paths = [word for rule in self.rules for word in rule]
        return (self.remedy, "network" if self.network else "", self.filter.hex(), str(len(self.rules)), *paths)


def read(words: "Sequence[str]") -> tuple[Profile, list[str]]:
    """The profile, and the command that follows it."""
    remedy, network, program, count, *rest = words
    end = 2 * int(count)
    rules = list(zip(rest[0:end:2], rest[1:end:2], strict=True))
    return Profile(rules=rules, network=bool(network), filter=bytes.fromhex(program), remedy=remedy), rest[end:]
