"""What an approver learns of a plan over HTTP: the program, the tools, the values behind masks; and ids in part."""

import pytest

from tests.e2e.http.conftest import SETTINGS, Service, Start

SEND = "from servers.crm import send\nsend({!r})"


@pytest.mark.requirement("T93")
def test_an_approver_sees_program_and_tools_and_with_the_right_the_values(service: Service) -> None:
    with service.client("ann") as ann, service.client("boss") as boss, service.client("boss_reveal") as seeing:
        for session in ({}, {"session": "values"}):
            asked = ann.post("/execute", json={"code": SEND.format("carl@example.com"), **session}).json()
            path = f"/approvals/{asked['plan']['id']}"
            seen = boss.get(path)
            assert "carl@example.com" not in seen.text
            details = seen.json()["details"]
            assert details["code"].startswith("from servers.crm import send\nsend('<EMAIL_")
            assert details["tools"]["crm.send"]["description"]
            assert (details["has_masks"], details["values"]) == (True, None)
            refused = boss.get(path, params={"values": True})
            assert refused.status_code == 403
            assert "carl@example.com" not in refused.text
            values = seeing.get(path, params={"values": True}).json()["details"]["values"]
            assert list(values["1"].values()) == ["carl@example.com"]
            assert "carl@example.com" not in boss.get("/approvals").text


@pytest.mark.requirement("T46")
def test_the_beginning_of_an_id_suffices_for_who_may_see_it(service: Service) -> None:
    with service.client("ann") as ann, service.client("boss") as boss, service.client("eve") as eve:
        asked = ann.post("/execute", json={"code": SEND.format("dora")}).json()
        part, run = asked["plan"]["id"][:12], asked["id"][:12]
        assert boss.get(f"/approvals/{part}").json()["id"] == asked["plan"]["id"]
        assert ann.get(f"/executions/{run}").json()["id"] == asked["id"]
        for path in (f"/approvals/{part}", f"/executions/{run}"):
            assert eve.get(path).status_code == 404
        assert eve.post(f"/approvals/{part}", json={"approve": "all"}).status_code == 404
        assert eve.post("/execute", json={"resume": run}).status_code == 404
        assert boss.post(f"/approvals/{part}", json={"approve": "all"}).json()["standing"] == "approved"
        assert ann.post("/execute", json={"resume": run}).json()["status"] == "ok"


def test_a_plan_that_is_resumed_too_early_stays_and_either_execution_can_go_on(service: Service) -> None:
    with service.client("ann") as ann, service.client("boss") as boss:
        first = ann.post("/execute", json={"code": SEND.format("early")}).json()
        second = ann.post("/execute", json={"resume": first["id"]}).json()
        assert second["plan"]["id"] == first["plan"]["id"]
        assert second["plan"]["execution"] == second["id"]
        assert boss.post(f"/approvals/{first['plan']['id']}", json={"approve": "all"}).status_code == 200
        assert ann.post("/execute", json={"resume": first["id"]}).json()["status"] == "ok"


def test_the_plan_names_the_page_on_which_it_is_decided(service: Service) -> None:
    with service.client("ann") as ann:
        plan = ann.post("/execute", json={"code": SEND.format("where")}).json()["plan"]
        assert plan["url"] == f"{service.url}/dashboard/#/approvals/{plan['id']}"


def test_the_outcome_of_an_execution_is_kept_after_the_process_forgot_it(starting: Start) -> None:
    code = "from servers.crm import find\nfind('carl')\nprint('mail', 'dora@example.com')\n{'a': 1}['b']"
    with starting(SETTINGS + "kept_seconds = 0\n") as service, service.client("ann") as ann, service.client("reader") as reader:
        id_ = ann.post("/execute", json={"code": code}).json()["id"]
        seen = reader.get(f"/executions/{id_}").json()
        assert seen["outcome"]["output"].startswith("mail <EMAIL_")
        assert "KeyError: 'b'" in seen["outcome"]["error"]
        listed = {
            row["id"]: row
            for row in reader.get("/executions", params={"word": "keyerror", "status": "failed"}).json()["executions"]
        }
        assert (listed[id_]["title"], listed[id_]["reason"]) == ("crm.find", "KeyError: 'b'")
        assert "\\x0a" not in seen["error"]
        assert seen["error"].count("\n") > 2
        for params in ({"word": "no such word"}, {"caller": "bob"}, {"since": 1e10}):
            assert reader.get("/executions", params=params).json()["executions"] == []
