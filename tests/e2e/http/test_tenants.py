"""Two tenants on one service: nothing of one can be seen, used, decided or deleted by the other."""

import pytest

from tests.e2e.http.conftest import Service

SEND = "from servers.crm import send\nsend('carl')"


@pytest.mark.requirement("T46")
def test_names_of_another_tenant_lead_nowhere(service: Service) -> None:
    with service.client("ann") as ann, service.client("eve") as eve, service.client("ann_evil") as twin:
        ann.post("/sessions", json={"name": "shared-name"})
        ann.put("/sessions/shared-name/files/secret.txt", content=b"acme only").raise_for_status()
        handle = ann.get("/sessions/shared-name").json()["id"]
        skill = "from skills import save\ndef hidden() -> int:\n    'Acme only.'\n    return 1\nsave(hidden, level='user')"
        id_ = ann.post("/execute", json={"code": skill, "session": "shared-name"}).json()["id"]
        for other in (eve, twin):
            paths = (
                "/sessions/shared-name", f"/sessions/{handle}", f"/sessions/{handle}/files", f"/sessions/{handle}/files/secret.txt",
                "/skills/hidden", "/tools/skills/hidden", f"/executions/{id_}", f"/executions/{id_}/events", f"/audit/{id_}",
            )  # fmt: skip
            assert [path for path in paths if other.get(path).status_code != 404] == []
            assert other.delete(f"/sessions/{handle}").status_code in (403, 404)
            assert other.put(f"/sessions/{handle}/files/x", content=b"x").status_code in (403, 404)
            found = other.get("/tools/search", params={"query": "hidden Acme only"}).json()
            assert "skills.hidden" not in [hit["tool"] for hit in found["hits"]]
            assert id_ not in other.get("/executions").text
            assert id_ not in other.get("/audit", params={"limit": 1000}).text
            assert "shared-name" not in [session["name"] for session in other.get("/sessions").json()]


@pytest.mark.requirement("T46")
def test_the_same_session_name_is_two_sessions(service: Service) -> None:
    with service.client("ann") as ann, service.client("ann_evil") as twin:
        ann.post("/execute", json={"code": "mine = 'acme'", "session": "twin"})
        seen = twin.post("/execute", json={"code": "'mine' in globals()", "session": "twin"}).json()
        still = ann.post("/execute", json={"code": "mine", "session": "twin"}).json()
    assert (seen["result"], still["result"]) == (False, "acme")


@pytest.mark.requirement("T46")
def test_another_tenant_cannot_resume_or_cancel(service: Service) -> None:
    with service.client("ann") as ann, service.client("eve") as eve:
        asked = ann.post("/execute", json={"code": SEND}).json()
        answer = eve.post("/execute", json={"resume": asked["id"]})
        assert eve.delete(f"/executions/{asked['id']}").status_code == 404
    assert (asked["status"], answer.status_code) == ("awaiting_approval", 404)


@pytest.mark.requirement("T46")
def test_what_another_tenant_asks_to_resume_is_not_among_the_own_records(service: Service) -> None:
    with service.client("admin") as admin, service.client("eve") as eve:
        id_ = admin.post("/execute", json={"code": "1"}).json()["id"]
        assert eve.post("/execute", json={"code": "2", "resume": id_}).status_code == 404
        admin.get(f"/executions/{id_}x")  # which has what was just done written
        assert admin.get(f"/audit/{id_}").json()["children"] == []


@pytest.mark.requirement("T46")
def test_numbers_of_all_tenants_are_for_the_operator(service: Service) -> None:
    with service.client("eve") as eve, service.client("operator") as operator:
        assert eve.get("/metrics").json()["rule"] == "operator"
        assert eve.get("/audit/verify").json()["rule"] == "operator"
        assert operator.get("/metrics").status_code == 200


@pytest.mark.requirement("T46")
def test_stats_count_the_own_tenant_only(service: Service) -> None:
    with service.client("ann_evil") as twin, service.client("reader") as reader:
        before = reader.get("/stats").json()["executions"]
        twin.post("/execute", json={"code": "1"}).raise_for_status()
        assert reader.get("/stats").json()["executions"] == before


@pytest.mark.requirement("T48")
def test_a_plan_is_decided_once_by_somebody_else_of_the_tenant_with_the_scope(service: Service) -> None:
    with (
        service.client("ann") as ann, service.client("ann_both") as both, service.client("eve") as eve,
        service.client("boss") as boss, service.client("reader") as reader,
    ):  # fmt: skip
        asked = ann.post("/execute", json={"code": SEND.replace("carl", "dora")}).json()
        path = f"/approvals/{asked['plan']['id']}"
        assert asked["status"] == "awaiting_approval"
        assert ann.post(path, json={"approve": "all"}).status_code == 403  # no scope
        assert both.post(path, json={"approve": "all"}).json()["rule"] == "approval.self"
        assert eve.post(path, json={"approve": "all"}).status_code == 404
        assert eve.get(path).status_code == 404
        assert asked["plan"]["id"] not in eve.get("/approvals").text
        assert boss.post(path, json={"approve": [7]}).json()["rule"] == "approval.numbers"
        assert boss.get("/approvals").json()[0]["plan"]["calls"][0]["arguments"] == {"to": "dora"}
        decided = boss.post(path, json={"approve": "all"}).json()
        twice = boss.post(path, json={"approve": "none"})
        assert (twice.status_code, twice.json()["rule"]) == (409, "approval.once")
        done = ann.post("/execute", json={"resume": asked["id"]}).json()
        again = ann.post("/execute", json={"resume": asked["id"]}).json()
        other = ann.post("/execute", json={"code": SEND.replace("carl", "otto"), "resume": asked["id"]}).json()
        record = reader.get("/audit", params={"kind": "approval"}).json()["records"][0]
    assert (decided["standing"], decided["decided_by"]) == ("approved", "bob@acme")
    assert done["result"] == {"sent": "dora", "times": 1}
    assert again["result"] == {"sent": "dora", "times": 1}  # from the journal: it was not sent twice
    assert other["status"] == "awaiting_approval"  # another call than the one that was approved
    assert (record["caller"], record["status"], record["details"]["by"]) == ("ann@acme", "approved", "bob@acme")


@pytest.mark.requirement("T48")
def test_what_was_denied_is_not_done(service: Service) -> None:
    with service.client("ann") as ann, service.client("boss") as boss:
        asked = ann.post("/execute", json={"code": SEND.replace("carl", "emil")}).json()
        boss.post(f"/approvals/{asked['plan']['id']}", json={"approve": "none"}).raise_for_status()
        done = ann.post("/execute", json={"resume": asked["id"]}).json()
    assert done["status"] == "failed"
    assert "the approver said no" in done["error"]
