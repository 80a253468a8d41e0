"""Computes the checksums of card and bank account numbers, which distinguish them from other rows of digits."""

_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_ZERO = ord("0")
_IBAN_DIGITS = {ord(first) + number: str(10 + number) for first in "Aa" for number in range(26)} | {ord(" "): "", ord("-"): ""}

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
"""Prefixes of issuers by number of digits. Visa numbers of thirteen digits are no longer issued, and would match bar codes."""

_MAESTRO = frozenset(("5018", "5020", "5038", "5893", "6304", "6759", "6761", "6762", "6763"))

_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
"""Countries by the length of their IBANs. The tests compare this table with the registry of python-stdnum."""

_IBAN_LENGTHS = {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}


_ISSUERS = {
    length: _MAESTRO.union(
        f"{number:04}"
        for prefix in _CARD_PREFIXES.get(length, ())
        for number in range(int(f"{prefix:0<4}"), int(f"{prefix:9<4}") + 1)
    )
    for length in range(12, 20)
}
"""The same prefixes, extended to all first four digits."""


def passes_luhn(digits: str) -> bool:
    """Tells whether the last digit is the Luhn check digit of the others."""
    figures = digits.encode()
    return (sum(figures[-1::-2]) - _ZERO * ((len(figures) + 1) // 2) + sum(figures[-2::-2].translate(_DOUBLED))) % 10 == 0


def is_card(digits: str) -> bool:
    """Tells whether an issuer uses numbers of that length and prefix, and the check digit is correct."""
    return digits[:4] in _ISSUERS.get(len(digits), ()) and passes_luhn(digits)


def get_iban_length(country: str) -> int:
    """Returns how many characters an IBAN of that country has; 0 if the country has no IBANs."""
    return _IBAN_LENGTHS.get(country, 0)


def passes_mod_97(number: str) -> bool:
    """Tells whether an IBAN, with or without spaces or hyphens, has the remainder 1 when divided by 97."""
    return int((number[4:] + number[:4]).translate(_IBAN_DIGITS)) % 97 == 1
