"""What counts as personal or secret, and what only looks so."""

import pytest

from gristmill.guard.mask.detector import DEFAULT_KINDS, DetectionTargets, Detector

DETECTOR = Detector()


def found(text: str, detector: Detector = DETECTOR) -> list[tuple[str, str]]:
    return [(kind, text[start:end]) for start, end, kind in detector.find(text)]


# Put together from two halves, so that no scanner takes this file for a leak.
def joined(prefix: str, rest: str) -> str:
    return prefix + rest


EMAILS = """
ann@example.com  ann.smith+news@mail.example.co.uk  o'brien@example.ie  a@b.io  ANN@EXAMPLE.COM  x_y-z@sub-domain.example.museum
müller@beispiel.de  ann@exämple.de  ann@xn--bcher-kva.example  1234567@qq.com  иван@пример.рф  ann%40example.com
""".split()

PHONES = (
    """
+49 30 901820|+4930901820|+49 (0)30 90 18 20|+1 (555) 223-4567|+15552234567|+1-555-223-4567|+1.555.223.4567|+44 20 7946 0958
+44 7911 123456|+33 1 23 45 67 89|+81 3-1234-5678|+86 138 0013 8000|+91 98765 43210|+7 (495) 123-45-67|+55 11 91234-5678
+61 2 9374 4000|+971 50 123 4567|+353 1 234 5678|+41 44 668 18 00|+358 9 1234567
(555) 223-4567|555-223-4567|555.223.4567|1-555-223-4567|1 (555) 223-4567|555 223 4567
0049 30 901820|030 901820 11|030/1234567|0171-1234567|(030) 1234567|020 7946 0958|07911 123456|01 23 45 67 89|01.23.45.67.89|089 / 1234567
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

CARDS = (
    """
4111111111111111|4111 1111 1111 1111|4111-1111-1111-1111|5555555555554444|5105 1051 0510 5100|2223003122003222|378282246310005
3782 822463 10005|371449635398431|6011111111111117|6011 0009 9013 9424|30569309025904|3056 930902 5904|38520000023237
3530111333300000|3566 0020 2036 0505|6200000000000005|6759649826438453|4000 0566 5566 5556|6304000000000000
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

IBANS = (
    """
DE89370400440532013000|DE89 3704 0044 0532 0130 00|GB29NWBK60161331926819|GB29 NWBK 6016 1331 9268 19|FR1420041010050500013M02606
NL91ABNA0417164300|ES9121000418450200051332|IT60X0542811101000000123456|CH9300762011623852957|BE68539007547034|AT611904300234573201
PL61109010140000071219812874|SE4550000000058398257466|NO9386011117947|DK5000400440116243|MT84MALT011000012345MTLCAST001S
SA0380000000608010167519|de89370400440532013000
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

TOKENS = [
    joined("AKIA", "IOSFODNN7EXAMPLE"), joined("ASIA", "Y34FZKBOKMUTVV7A"),
    joined("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"), joined("github_pat_", "11ABCDEFG0abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abc"),
    joined("glpat-", "aBcDeFgHiJkLmNoPqRsT"), joined("xoxb-", "123456789012-123456789012-abcdefABCDEF123456789012"),
    joined("xapp-", "1-A0123456789-1234567890123-abcdef0123"), joined("sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"),
    joined("rk_test_", "4eC39HqLyjWDarjtT1zdp7dc"), joined("AIza", "SyA1234567890abcdefghijklmnopqrstuv"),
    joined("ya29.", "a0AfH6SMBx1234567890abcdef"), joined("sk-ant-", "api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AA"),
    joined("sk-proj-", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"), joined("sk-", "AbCdEfGhIjKlMnOpQrStT3BlbkFJAbCdEfGhIjKlMnOpQrSt"),
    joined("hf_", "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"), joined("npm_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    joined("SG.", "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr"), joined("shpat_", "0123456789abcdef0123456789abcdef"),
    joined("dop_v1_", "0123456789abcdef" * 4), joined("hvs.", "CAESIJ1234567890abcdefghijkl"), joined("glsa_", "AbCdEfGhIjKlMnOpQrStUvWxYz012345_abcdef01"),
    joined("lin_api_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789ABCD"), joined("123456789", ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"),
    joined("eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"),
    joined("-----BEGIN RSA PRIVATE KEY-----", "\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\nAbCd+/==\n-----END RSA PRIVATE KEY-----"),
    joined("-----BEGIN OPENSSH PRIVATE KEY-----", "\\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\\n-----END OPENSSH PRIVATE KEY-----"),
]  # fmt: skip

KNOWN = [
    *(("EMAIL", value) for value in EMAILS),
    *(("PHONE", value) for value in PHONES),
    *(("CARD", value) for value in CARDS),
    *(("IBAN", value) for value in IBANS),
    *(("SSN", value) for value in ("078-05-1120", "219-09-9999", "536-22-1234")),
    *(("SECRET", value) for value in TOKENS),
]
AROUND = ("{}", "{} ", "see {}, please", "({})", '"{}"', "<td>{}</td>", "a: {}; b", "x\n{}\ny", "价格 {} 元", "[{}]")


@pytest.mark.parametrize(("kind", "value"), KNOWN)
def test_a_value_is_found_exactly_wherever_it_stands(kind: str, value: str) -> None:
    assert {around: found(around.format(value)) for around in AROUND} == {around: [(kind, value)] for around in AROUND}


NOTHING = (
    """
2024-05-01|2024-05-01T12:33:11Z|2024-05-01 12:33:11|2024-05-01T12:33:11.123456+00:00|01.05.2024|01/05/2024 10:30|05-12-2024 1430|20240501123311
12:33:11|1714566791|1714566791123|1714566791123456|1714566791123456789|1.2.3|10.12.2023.1|v2.31.0-rc.1|3.11.7|1,234,567.89|$1,234.56|12.50 EUR
0.4111111111111111|4111.1111111111|3.141592653589793|-122.41941550000001|37.7749295|1e+10|+0100|+1|-5|100 000 000|1 000 000 000
550e8400-e29b-41d4-a716-446655440000|123e4567-e89b-12d3-a456-426614174000|00000000-0000-0000-0000-000000000000
d41d8cd98f00b204e9800998ecf8427e|da39a3ee5e6b4b0d3255bfef95601890afd80709|5f4dcc3b5aa765d61d8327deb882cf99
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|348c62a|a07dbe3f7460d55
4111111111111112|1234567890123456|4111 1111 1111 1112|4006381333931|9780306406157|978-0-306-40615-7|0000-0002-1825-0097|1Z999AA10123456784
0123456789|123456789|1234567|12345678901|ABC-1234567890|INV-2024-000123|order 4567891234|#1234567|PROJ-1234|page 12 of 345|192.168.1.10|8.8.8.8
10.0.0.0/8|255.255.255.255|127.0.0.1:8080|http://localhost:8080/x?id=12345678901&v=2|https://example.com/a/1234567890123456/b|user@host
icon@2x.png|left-pad@1.3.0|left-pad@1.3.0.tgz|@scope/package|@app.route|git@github.com:org/repo.git|ssh://git@github.com/org/repo|https://ann@example.com/x
DE89370400440532013001|XX89370400440532013000|DE8937040044|000-12-3456|666-12-3456|900-12-3456|123-45-678|123-00-4567
task-0123456789012345678901234567890123456789|risk-assessment|disk-usage|eyJhbGci|sk-learn|scikit-learn|AKIA|ghp_short|secretary|tokenize
password: required|"password": null|token = None|api_key=${API_KEY}|next_page_token=abcdefghijklmnopqrstuvwxyz123456|Bearer token|max_tokens=4096
0a 01 23 45 67 89 ff|01 02 03 04 05 06 07 08 09|00 11 22 33 44|1 2 3 4 5 6 7 8 9 10 11 12|200 300 4000 500|12 345 678|Figure 3-2 (2019) 12-15
lat 48.137154 lon 11.576124|8GB 16GB 32GB|1920x1080|0x7fffffffffff|100%|99.99%|+15%|2024/25|Q1 2024 - Q2 2025|9-5|24/7|1-2-3|555-1234
{"id": 12345678, "size": 1048576, "mtime": 1714566791.123}|[1, 22, 333, 4444, 55555, 666666]|ISBN 0-306-40615-2|RFC 2822|ISO 8601
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_so_is_left_alone(text: str) -> None:
    assert {around: found(around.format(text)) for around in ("{}", "see {} ", '"{}"')} == {"{}": [], "see {} ": [], '"{}"': []}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("API_KEY=abcd1234efgh5678ijkl", "abcd1234efgh5678ijkl"),
        ('{"client_secret": "s3cr3t-value"}', "s3cr3t-value"),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
        ("password: hunter2\n", "hunter2"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
        ("curl -H 'X-Api-Key: 0f1e2d3c4b5a69788796'", "0f1e2d3c4b5a69788796"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("postgres://app:s3cr3t@db.example.com:5432/x", "s3cr3t"),
        ("redis://:p4ssw0rd@localhost:6379", "p4ssw0rd"),
        ("AccountKey=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==;Endpoint", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA=="),
    ],
)
def test_a_secret_is_found_by_what_is_written_before_it(text: str, value: str) -> None:
    assert found(text) == [("SECRET", value)]


def test_neighbours_are_found_each_for_itself() -> None:
    text = "Ann <ann@example.com>, 030 1234567 / 0171 1234567, 4111 1111 1111 1111 12/27 123; bob@example.com"
    assert found(text) == [
        ("EMAIL", "ann@example.com"), ("PHONE", "030 1234567"), ("PHONE", "0171 1234567"), ("CARD", "4111 1111 1111 1111"), ("EMAIL", "bob@example.com"),
    ]  # fmt: skip


def test_addresses_of_machines_are_found_only_when_asked_for() -> None:
    text = "from 192.168.1.10 and 2001:db8::1 at 12:30:11, version 1.2.3"
    with_ip = Detector(DetectionTargets(kinds=DEFAULT_KINDS | {"ip"}))
    assert (found(text), found(text, with_ip)) == ([], [("IP", "192.168.1.10"), ("IP", "2001:db8::1")])


@pytest.mark.parametrize("kind", sorted(DEFAULT_KINDS))
def test_a_kind_that_is_off_is_not_found(kind: str) -> None:
    detector = Detector(DetectionTargets(kinds=DEFAULT_KINDS - {kind}))
    text = "ann@example.com, +49 30 901820, 4111111111111111, DE89370400440532013000, 078-05-1120, " + TOKENS[0]
    assert {name.lower() for name, _ in found(text)} - {name.lower() for name, _ in found(text, detector)} == {kind}


def test_names_are_found_as_whole_words_as_written_and_in_capitals() -> None:
    detector = Detector(DetectionTargets(names=("Ann Smith", "Mark")))
    assert found("Ann Smith, ANN SMITH, Mark's, Marked, mark, xMark", detector) == [
        ("NAME", "Ann Smith"), ("NAME", "ANN SMITH"), ("NAME", "Mark"),
    ]  # fmt: skip


def test_patterns_match_within_lines() -> None:
    detector = Detector(DetectionTargets(patterns={"employee": r"EMP-\d{6}", "note": r"^note: .*$"}))
    assert found("EMP-123456 x\nnote: for Ann\nrest", detector) == [("EMPLOYEE", "EMP-123456"), ("NOTE", "note: for Ann")]


def test_a_pattern_is_found_across_the_pieces_of_a_long_line() -> None:
    detector = Detector(DetectionTargets(patterns={"employee": r"EMP-\d{6}"}))
    text = "".join(f"{'.' * gap}EMP-{gap:06}" for gap in range(300))
    assert [value for _, value in found(text, detector)] == [f"EMP-{gap:06}" for gap in range(300)]


def test_what_is_allowed_is_left_alone() -> None:
    detector = Detector(DetectionTargets(allow=("*@example.com", "+49 30 901820")))
    assert found("ann@example.com, ann@example.org, +49 30 901820", detector) == [("EMAIL", "ann@example.org")]


def test_a_credential_of_the_gateway_is_found_in_any_text_and_wins_over_every_kind() -> None:
    detector = Detector(DetectionTargets(literals=frozenset({'p"ss/w0rd', "abc"}), allow=("*",)))
    text = 'x-p"ss/w0rd-y p%22ss%2Fw0rd p\\"ss/w0rd abc'
    assert [value for _, value in found(text, detector)] == ['p"ss/w0rd', "p%22ss%2Fw0rd", 'p\\"ss/w0rd']
    inside = Detector(DetectionTargets(literals=frozenset({"w0rdw0rd"})))
    assert found("https://u:my-w0rdw0rd@host", inside) == [("CREDENTIAL", "my-w0rdw0rd")]


def test_half_a_character_is_no_obstacle() -> None:
    assert found("\ud800 ann@example.com \udfff") == [("EMAIL", "ann@example.com")]


def test_a_long_value_after_a_telling_word_is_found_to_its_end() -> None:
    value = "aB3-xY7_kQ9z" * 300
    assert found(f"access_token={value}&x=1") == [("SECRET", value)]


def test_a_text_of_nothing_but_beginnings_holds_nothing() -> None:
    assert found("token=" * 10_000) == []
