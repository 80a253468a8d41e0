"""What a confined server may do, passed to its launcher as words of the command line, which need no parser."""

TYPE_CHECKING = False  # as in `typing`, whose import would add milliseconds to every start
if TYPE_CHECKING:
    from collections.abc import Sequence


class ConfinedProfile:
    """The rights of one server, without secrets: paths with their access, whether it has a network, a filter, the user and group
    to become, and the advice to print if it cannot be confined."""

    __slots__ = ("filter", "network", "remedy", "rules", "user")

    def __init__(
        self,
        *,
        rules: "Sequence[tuple[str, str]]",
        network: bool,
        filter: bytes,  # noqa: A002
        remedy: str,
        user: "tuple[int, int] | None" = None,
    ) -> None:
        self.rules, self.network, self.filter, self.remedy, self.user = rules, network, filter, remedy, user

    def words(self) -> tuple[str, ...]:
        """Returns the profile as words for a command line; the server's own command follows them."""
        paths = [word for rule in self.rules for word in rule]
        user = "{}:{}".format(*self.user) if self.user else ""
        return (self.remedy, "network" if self.network else "", user, self.filter.hex(), str(len(self.rules)), *paths)


def read_profile(words: "Sequence[str]") -> tuple[ConfinedProfile, list[str]]:
    """Reads the profile from ``words``; returns it and the command that follows it."""
    remedy, network, named, program, count, *rest = words
    end = 2 * int(count)
    rules = list(zip(rest[0:end:2], rest[1:end:2], strict=True))
    uid, _, gid = named.partition(":")
    user = (int(uid), int(gid)) if named else None
    return ConfinedProfile(rules=rules, network=bool(network), filter=bytes.fromhex(program), remedy=remedy, user=user), rest[
        end:
    ]
