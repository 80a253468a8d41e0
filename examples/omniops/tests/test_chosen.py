"""The settings of the README open the two shops from the commerce server's own process, through the gateway."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from examples.omniops.tests.conftest import KEYS, Shops
from examples.opening import ROOT
from gristmill import BlockingRuntime, Config

README = Path(__file__).parents[1] / "README.md"
PROGRAM = """\
from servers import shopify, woo
one, two = woo.get_order(11500), shopify.get_order(11500)
[one == two, one["total"]]
"""


def test_the_settings_of_the_readme_reach_both_shops(shops: Shops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    servers = tomllib.loads(block)["servers"]
    for name, kind in (("woo", "woocommerce"), ("shopify", "shopify")):
        servers[name] |= {"command": sys.executable, "cwd": ROOT}
        servers[name]["env"]["OMNIOPS_SHOP_URL"] = shops.urls[kind]
    for name, key in zip(("WOO_KEY", "WOO_SECRET", "SHOPIFY_TOKEN"), KEYS.values(), strict=True):
        monkeypatch.setenv(name, key)
    tmp_path.chmod(0o755)

    with BlockingRuntime(Config.model_validate({"servers": servers, "store": {"path": tmp_path}})) as runtime:
        outcome = runtime.execute(PROGRAM)

    assert (outcome.status, outcome.error) == ("ok", None)
    assert outcome.result == [True, shops.local.order(11_500)["total"]]
