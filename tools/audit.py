"""Asks the advisory service about every package of the lock file: `make check` runs it, with or without a network.

Where the service does not answer within a few seconds, or does not know our packages (a mirror), it prints that nothing was
checked. ``--require`` makes that a failure, for machines that must have a network.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECONDS_TO_ANSWER = 5
SECONDS_IN_ALL = 120
LONGEST_REASON = 200


def main() -> None:
    """Audits the lock file; ends with status 1 if a package is known to be vulnerable."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", action="store_true", help="fail if nothing could be checked")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements-dev.lock", help="the lock file")
    asked = parser.parse_args()
    status, text = judge_answer(*ask_service(asked.lock))
    print(text)
    if status == "vulnerable" or (status == "not checked" and asked.require):
        sys.exit(1)


def ask_service(lock: Path) -> tuple[str, str]:
    """Runs pip-audit on the pins of ``lock`` without installing anything; returns what it printed to both streams."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(lock), "--require-hashes", "--disable-pip", "--format", "json"]
    command += ["--progress-spinner", "off", "--timeout", str(SECONDS_TO_ANSWER)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_IN_ALL, check=False)
    except subprocess.TimeoutExpired:
        return "", f"the advisory service took longer than {SECONDS_IN_ALL} s"
    return done.stdout, done.stderr


def judge_answer(printed: str, problems: str) -> tuple[str, str]:
    """Returns ``checked``, ``vulnerable`` or ``not checked``, and a text that says so.

    A package that the service does not know was not checked, although pip-audit itself calls that a success.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(printed)["dependencies"]
    except (ValueError, KeyError):
        reason = (problems.strip().splitlines() or ["no answer"])[-1][:LONGEST_REASON]
        return "not checked", f"known vulnerabilities: not checked: no network ({reason})"
    known = [package for package in packages if "vulns" in package]
    if not known:
        return (
            "not checked",
            f"known vulnerabilities: not checked: the service knows none of the {len(packages)} packages (a mirror?)",
        )
    found = [describe_finding(package, finding) for package in known for finding in package["vulns"]]
    if found:
        return "vulnerable", "\n".join(
            [*found, f"known vulnerabilities: {len(found)}; run `make upgrade`, or pin a fixed version"]
        )
    unknown = sorted(package["name"] for package in packages if "vulns" not in package)
    rest = f"; not checked, since the service does not know them: {', '.join(unknown)}" if unknown else ""
    return "checked", f"known vulnerabilities: none in {len(known)} packages{rest}"


def describe_finding(package: dict[str, Any], finding: dict[str, Any]) -> str:
    """Returns one line about a vulnerability."""
    fixed = ", ".join(finding.get("fix_versions", ())) or "no version yet"
    return f"{package['name']} {package['version']}: {finding['id']}, fixed in {fixed}"


if __name__ == "__main__":
    main()
