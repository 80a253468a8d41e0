"""Checksums of card and bank account numbers: what tells them from any other row of digits. Pure arithmetic."""

_SINGLE = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_ZERO = ord("0")
_FIGURES = {ord(first) + number: str(10 + number) for first in "Aa" for number in range(26)} | {ord(" "): "", ord("-"): ""}

_CARD_PREFIXES = {
    14: ("300", "301", "302", "303", "304", "305", "309", "36", "38", "39"),  # Diners Club
    15: ("34", "37"),  # American Express
    16: (
        "4", "51", "52", "53", "54", "55", "6011", "644", "645", "646", "647", "648", "649", "65", "62", "81",
        "352", "353", "354", "355", "356", "357", "358", "60", "508", "2200", "2201", "2202", "2203", "2204",
        *(str(prefix) for prefix in range(223, 272)), *(str(prefix) for prefix in range(2221, 2230)), "2720", "9792",
    ),
    19: ("4", "62", "6011", "65", "81"),
}  # fmt: skip
"""Issuers by number of digits. Thirteen-digit Visa numbers are long gone, and would catch bar codes."""

_MAESTRO = frozenset(("5018", "5020", "5038", "5893", "6304", "6759", "6761", "6762", "6763"))

_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18,
    "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31,
    "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29,
    "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip


_ISSUERS = {
    length: _MAESTRO.union(
        f"{number:04}"
        for prefix in _CARD_PREFIXES.get(length, ())
        for number in range(int(f"{prefix:0<4}"), int(f"{prefix:9<4}") + 1)
    )
    for length in range(12, 20)
}
"""The same as first four digits."""


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    figures = digits.encode()
    return (sum(figures[-1::-2]) - _ZERO * ((len(figures) + 1) // 2) + sum(figures[-2::-2].translate(_DOUBLED))) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether an issuer gives out numbers of that length and beginning, and the check digit is right."""
    return digits[:4] in _ISSUERS.get(len(digits), ()) and passes_luhn(digits)


def cards_among(numbers: list[str]) -> list[str]:
    """Those of which ``is_card`` is true. There may be very many: check digits are computed for all of one length at once."""
    cards: list[str] = []
    for length in sorted(_ISSUERS.keys() & set(map(len, numbers))):
        issuers = _ISSUERS[length]
        some = [number for number in numbers if len(number) == length and number[:4] in issuers]
        cards += [number for number, total in zip(some, _luhn_totals(some, length), strict=True) if total % 10 == 0]
    return cards


def _luhn_totals(numbers: list[str], length: int) -> bytes:
    """The sum of each number's digits, every second doubled. None is over 171: added up as bytes of one long number, none
    carries over into its neighbour."""
    digits = "".join(numbers).encode()
    tables = (_SINGLE, _DOUBLED)
    columns = (digits[at::length].translate(tables[(length - 1 - at) % 2]) for at in range(length))
    return sum(int.from_bytes(column) for column in columns).to_bytes(len(numbers))


def iban_length(country: str) -> int:
    """How many characters an IBAN of that country has; 0 for countries without."""
    return _IBAN_LENGTHS.get(country, 0)


def passes_mod_97(number: str) -> bool:
    """Whether an IBAN, written with spaces or hyphens or without, has the remainder 1."""
    return int((number[4:] + number[:4]).translate(_FIGURES)) % 97 == 1
