"""Every route of the HTTP door, over a real socket with the real sandbox."""

import subprocess

import pytest

from tests.e2e.http.conftest import Service


def test_the_example_works_with_curl_as_it_stands(service: Service) -> None:
    code = r'{"code": "print(\"test\")\n\"test\""}'
    command = ["curl", "-s", "-X", "POST", f"{service.url}/execute", "-H", "Content-Type: application/json", "-d", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"success":true' in done.stdout
    assert '"output":"test\\n"' in done.stdout
    assert '"result":"test"' in done.stdout


def test_an_outcome_has_every_promised_field(service: Service) -> None:
    with service.client("ann") as client:
        outcome = client.post("/execute", json={"code": "from servers.crm import find\nfind('x')"}).json()
    promised = "success output result error execution_time_ms memory_mb tools_called tokens_saved"
    assert set(promised.split()) <= set(outcome)
    assert (outcome["success"], outcome["result"], outcome["tools_called"]) == (True, {"q": "x", "limit": 10}, ["crm.find"])


def test_a_program_that_fails_is_an_outcome_and_not_an_http_error(service: Service) -> None:
    with service.client("ann") as client:
        answer = client.post("/execute", json={"code": "1 / 0"})
    assert (answer.status_code, answer.json()["status"], answer.json()["error_type"]) == (200, "failed", "ZeroDivisionError")


def test_context_limits_and_budget_reach_the_code(service: Service) -> None:
    with service.client("ann") as client:
        seen = client.post("/execute", json={"code": "context.user_id + 1", "context": {"user_id": 41}}).json()
        slow = client.post("/execute", json={"code": "while True: pass", "limits": {"seconds": 0.3}}).json()
        short = client.post("/execute", json={"code": "print('word ' * 5000)", "budget": {"output_tokens": 50}}).json()
    assert seen["result"] == 42
    assert (slow["status"], slow["limit"]) == ("limited", "seconds")
    assert short["truncated"]
    assert short["left_out"][0]["part"] == "output"


def test_another_language_is_refused_by_name(service: Service) -> None:
    with service.client("ann") as client:
        answer = client.post("/execute", json={"code": "1", "language": "cobol"})
    assert (answer.status_code, answer.json()["code"]) == (422, "request")
    assert "language" in answer.json()["message"]
    assert "python" in answer.json()["message"]


def test_unknown_fields_and_empty_code_are_refused(service: Service) -> None:
    with service.client("ann") as client:
        assert client.post("/execute", json={"code": "1", "sesion": "x"}).status_code == 422
        empty = client.post("/execute", json={})
        assert (empty.status_code, empty.json()["rule"]) == (422, "code.empty")


def test_tools_are_found_listed_and_described(service: Service) -> None:
    with service.client("ann") as client:
        found = client.get("/tools/search", params={"query": "find customers", "detail_level": "name_only", "limit": 1}).json()
        servers = client.get("/tools").json()
        tools = client.get("/tools/crm").json()
        tool = client.get("/tools/crm/send").json()
        missing = client.get("/tools/crm/sned")
    assert found["hits"][0]["tool"] == "crm.find"
    assert [server["name"] for server in servers] == ["crm"]
    assert {tool["key"] for tool in tools} == {"crm.find", "crm.send"}
    assert "def send" in tool["text"]
    assert (missing.status_code, missing.json()["code"], missing.json()["near"][0]) == (404, "not_found.tool", "crm.send")


@pytest.mark.parametrize(
    ("level", "fields"),
    [
        ("name_only", {"name", "server"}),
        ("with_description", {"name", "server", "description"}),
        ("full", {"name", "server", "description", "input_schema", "output_schema", "signature"}),
    ],
)
def test_a_search_answers_with_the_fields_of_its_level(service: Service, level: str, fields: set[str]) -> None:
    asked = {"query": "", "detail_level": level, "limit": 100}
    with service.client("ann") as client:
        hits = client.get("/tools/search", params=asked).json()["hits"]
        tools = client.get("/api/v1/mcp/tools/search", params=asked).json()["tools"]
        # Other tests may have saved skills, which are listed, too.
        hits, tools = ([each for each in every if each["server"] == "crm"] for every in (hits, tools))
        too_many = client.get("/tools/search", params={**asked, "limit": 101})
    assert [set(hit) for hit in hits] == [{*fields, "tool", "score"}] * 2
    assert [set(tool) for tool in tools] == [fields] * 2
    assert [(tool["server"], tool["name"]) for tool in tools] == [("crm", "find"), ("crm", "send")]
    assert too_many.status_code == 422


def test_sessions_keep_values_and_files_go_both_ways(service: Service) -> None:
    with service.client("ann") as client:
        made = client.post("/sessions", json={"name": "routes"})
        client.put("/sessions/routes/files/in/data.txt", content=b"forty-two").raise_for_status()
        code = "text = open('in/data.txt').read()\nopen('out.html', 'w').write('<script>1</script>')\ntext"
        first = client.post("/execute", json={"code": code, "session": "routes"}).json()
        second = client.post("/execute", json={"code": "text.upper()", "session": "routes"}).json()
        listed = client.get("/sessions/routes/files").json()["files"]
        page = client.get(f"/sessions/{made.json()['id']}/files/out.html")
        assert client.delete("/sessions/routes/files/out.html").status_code == 204
        assert client.get("/sessions/routes/files/out.html").status_code == 404
        assert "routes" in [session["name"] for session in client.get("/sessions").json()]
        assert client.delete("/sessions/routes").status_code == 204
        assert client.get("/sessions/routes").json()["code"] == "not_found.session"
    assert made.status_code == 201
    assert (first["result"], second["result"], second["state"]) == ("forty-two", "FORTY-TWO", "kept")
    assert {entry["path"] for entry in listed if entry["kind"] == "file"} == {"in/data.txt", "out.html"}
    assert page.content == b"<script>1</script>"


def test_large_files_go_both_ways_in_pieces(service: Service) -> None:
    body = bytes(range(256)) * 12_000  # three pieces
    with service.client("ann") as client:
        client.post("/sessions", json={"name": "large"})
        client.put("/sessions/large/files/big.bin", content=body).raise_for_status()
        answer = client.get("/sessions/large/files/big.bin")
        assert (answer.content, answer.headers["content-length"]) == (body, str(len(body)))


def test_skills_are_seen_with_their_source_and_deleted(service: Service) -> None:
    code = "from skills import save\ndef double(n: int) -> int:\n    'Twice.'\n    return n * 2\nsave(double, level='user')"
    with service.client("ann") as client:
        saved = client.post("/execute", json={"code": code, "session": "skilled"}).json()
        assert saved["success"], saved["error"]
        listed = client.get("/skills").json()
        skill = client.get("/skills/double").json()
        assert client.delete("/skills/double").status_code == 204
        assert client.get("/skills/double").json()["code"] == "not_found.skill"
    assert "double" in [one["name"] for one in listed]
    assert "return n * 2" in skill["source"]
    assert skill["versions"] == [1]


def test_executions_are_listed_and_shown_with_their_calls(service: Service) -> None:
    with service.client("ann") as client:
        outcome = client.post("/execute", json={"code": "from servers.crm import find\nfind('y')", "session": "listed"}).json()
        listed = client.get("/executions", params={"session": "listed"}).json()["executions"]
        kept = client.get(f"/executions/{outcome['id']}").json()
    with service.client("reader") as client:
        record = client.get(f"/audit/{outcome['id']}").json()
        calls = client.get("/audit", params={"kind": "call", "session": "listed"}).json()["records"]
    assert outcome["id"] in [one["id"] for one in listed]
    assert {**kept["outcome"], "tokens_saved": None} == {**outcome, "tokens_saved": None}  # counted after the answer
    assert record["children"][0]["tool"] == "crm.find"
    assert record["tenant"] == "acme"
    assert calls[0]["parent"] == outcome["id"]


def test_audit_is_verified_and_stats_and_metrics_count(service: Service) -> None:
    with service.client("ann") as client:
        client.post("/execute", json={"code": "1"}).raise_for_status()
    with service.client("reader") as client:
        stats = client.get("/stats").json()
    with service.client("operator") as client:
        verified = client.get("/audit/verify").json()
        metrics = client.get("/metrics")
    assert stats["executions"]["ok"] >= 1
    assert verified["ok"]
    assert verified["records"] >= 1
    assert 'code_executions_total{status="ok"}' in metrics.text
    assert metrics.headers["content-type"].startswith("text/plain")


def test_anybody_may_ask_whether_it_lives_and_is_ready(service: Service) -> None:
    with service.client() as client:
        assert client.get("/health").json() == {"status": "ok", "isolation": None, "reason": None}
        assert client.get("/ready").json() == {"status": "ok", "isolation": "namespaces", "reason": None}
        assert [client.head(path).status_code for path in ("/health", "/ready")] == [200, 200]


def test_the_api_describes_itself_without_help_from_elsewhere(service: Service) -> None:
    with service.client() as client:
        page = client.get("/docs")
        openapi = client.get("/openapi.json").json()
    assert "POST /execute" in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "/executions/{id}/events" in openapi["paths"]


def test_unknown_routes_and_methods_are_problems_too(service: Service) -> None:
    with service.client("ann") as client:
        assert client.get("/nothing").json()["code"] == "request"
        assert client.get("/nothing").status_code == 404
        assert client.get("/execute").status_code == 405


def test_every_answer_carries_its_request_id(service: Service) -> None:
    with service.client("ann", headers={"X-Request-ID": "mine-1"}) as client:
        assert client.get("/tools").headers["x-request-id"] == "mine-1"
        assert client.get("/tools", headers={"X-Request-ID": "bad id"}).headers["x-request-id"] != "bad id"


@pytest.mark.requirement("T93")
def test_files_and_skills_are_masked_for_those_who_may_not_see_real_values(service: Service) -> None:
    code = (
        "def remind() -> str:\n    'Reminds ann@example.com.'\n    return 'ann@example.com'\n"
        "open('mails.csv', 'w').write('mail\\n' + remind() + '\\n')\n"
        "open('mails.bin', 'wb').write(b'\\0\\1' + remind().encode() + b'\\0')\nfrom skills import save\nsave(remind, level='user')\n1"
    )
    with service.client("ann") as ann, service.client("ann_reveal") as person:
        done = ann.post("/execute", json={"code": code, "session": "masked"}).json()
        assert done["status"] == "ok", done
        seen = ann.get("/sessions/masked/files/mails.csv")
        assert (seen.status_code, seen.headers["content-length"]) == (200, str(len(seen.content)))
        assert seen.text.startswith("mail\n<EMAIL_")
        assert person.get("/sessions/masked/files/mails.csv").text == "mail\nann@example.com\n"
        refused = ann.get("/sessions/masked/files/mails.bin")
        assert (refused.status_code, refused.json()["rule"]) == (403, "mask.file")
        assert b"ann@example.com" in person.get("/sessions/masked/files/mails.bin").content
        assert "<EMAIL_" in ann.get("/skills/remind").json()["source"]
        assert "ann@example.com" in person.get("/skills/remind").json()["source"]
        assert "ann@example.com" not in ann.get("/tools/search", params={"query": "remind"}).text
