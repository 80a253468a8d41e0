# ruff: noqa: ARG002 - the interface of the package names parameters that an arm does not depend on
# pyright: reportMissingTypeStubs=false
"""OpenFeature in both directions: another flag system says the arms of ours, or programs ask our rollout as a flag.

Imported only where it is used: its package is an extra.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode, FlagNotFoundError
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider
from openfeature.provider.metadata import Metadata

from gristmill.model import LOCAL, Identity
from gristmill.rollout.assign_arm import ArmChoice, Asker
from gristmill.rollout.rollouts import Rollouts

FLAG_SECONDS = 1.0
"""How long a flag system is waited for; then the stage of the rollout decides."""


class OpenFeatureFlags:
    """Asks the provider that the host program has set for the domain ``gristmill``."""

    def __init__(self, client: OpenFeatureClient | None = None) -> None:
        self._client = client or api.get_client("gristmill")

    async def find_arm(self, flag: str, asker: Asker, unit: str) -> str | None:
        """Returns the arm that the flag names; None if the flag system fails, is slow or has no such flag."""
        who = asker.identity
        known = {"tenant": who.tenant, "user": asker.user or who.caller, "caller": who.caller, "session": asker.session}
        context = EvaluationContext(unit, {name: value for name, value in known.items() if value is not None})
        try:
            found = await asyncio.wait_for(self._client.get_string_details_async(flag, "", context), FLAG_SECONDS)
        except TimeoutError:
            return None
        return found.value or None if found.error_code is None else None


class RolloutProvider(AbstractProvider):
    """Offers a rollout as an OpenFeature provider: the flag with the rollout's name is the arm, ``NAME.ARM`` says if it is that.

    It has the asynchronous half of the interface; the other half answers with defaults, since the store is asked.
    """

    def __init__(self, rollouts: Rollouts) -> None:
        super().__init__()
        self._rollouts = rollouts

    def get_metadata(self) -> Metadata:
        """Returns the name of the provider."""
        return Metadata(name="gristmill")

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Resolves the arm of the context: its targeting key is the user, its attributes may have ``tenant`` and ``session``."""
        choice = await self._choose(flag_key, evaluation_context)
        return FlagResolutionDetails(value=choice.arm, variant=choice.arm, reason=_name_reason(choice))

    async def resolve_boolean_details_async(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Resolves whether the context has the arm that the flag names."""
        rollout, _, arm = flag_key.partition(".")
        choice = await self._choose(rollout, evaluation_context)
        if arm not in self._rollouts.config.arms:
            raise FlagNotFoundError(f"the rollout {rollout} has no arm {arm!r}")
        return FlagResolutionDetails(value=choice.arm == arm, variant=choice.arm, reason=_name_reason(choice))

    async def resolve_object_details_async(
        self, flag_key: str, default_value: Any, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Any]:
        """Resolves the arm with its mode, model and prompt."""
        choice = await self._choose(flag_key, evaluation_context)
        value = {"arm": choice.arm, "mode": choice.mode, "model": choice.model, "prompt": choice.prompt}
        return FlagResolutionDetails(value=value, variant=choice.arm, reason=_name_reason(choice))

    async def _choose(self, rollout: str, context: EvaluationContext | None) -> ArmChoice:
        if not rollout or rollout != self._rollouts.config.name:
            raise FlagNotFoundError(f"there is no rollout {rollout!r}")
        choice = await self._rollouts.choose_arm(_read_asker(context))
        assert choice is not None  # the name was compared: a rollout is configured
        return choice

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Returns the default: ask with the client's methods that end in ``_async``."""
        return _keep_default(default_value)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Returns the default: ask with the client's methods that end in ``_async``."""
        return _keep_default(default_value)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Returns the default: an arm is no number."""
        return _keep_default(default_value)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Returns the default: an arm is no number."""
        return _keep_default(default_value)

    def resolve_object_details(
        self, flag_key: str, default_value: Sequence[Any] | Mapping[str, Any], evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Any]:
        """Returns the default: ask with the client's methods that end in ``_async``."""
        return _keep_default(default_value)


def _keep_default(value: Any) -> FlagResolutionDetails[Any]:
    text = "the arm is asked from a store: use the methods of the client that end in _async, for a text, a boolean or an object"
    return FlagResolutionDetails(value=value, reason=Reason.ERROR, error_code=ErrorCode.GENERAL, error_message=text)


def _name_reason(choice: ArmChoice) -> Reason:
    return {"assigned": Reason.SPLIT, "override": Reason.TARGETING_MATCH, "off": Reason.DISABLED}.get(
        choice.reason, Reason.STATIC
    )


def _read_asker(context: EvaluationContext | None) -> Asker:
    given = cast("Mapping[str, Any]", context.attributes if context else {})
    tenant, caller = str(given.get("tenant") or LOCAL), str(given.get("caller") or LOCAL)
    session = given.get("session")
    user = (context.targeting_key if context else None) or given.get("user")
    # The user of a context is a caller here where no caller is given, so that both ways of asking agree.
    if "caller" not in given and user is not None:
        return Asker(identity=Identity(tenant=tenant, caller=str(user)), session=None if session is None else str(session))
    return Asker(
        identity=Identity(tenant=tenant, caller=caller), session=None if session is None else str(session),
        user=None if user is None else str(user),
    )  # fmt: skip
