"""State-schema versions and their upgrades; pure.

An agent registers one function per version: `@upgrades.step(1)` turns a state of schema 1 into one
of schema 2. History is never rewritten: the reader of an old state upgrades what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import InvalidValue, NewerThanCode, NoUpgradePath, UpgradeFailed
from .deltas import check, copied

type Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


class Upgrades:
    """The known steps from one version of a state schema to the next; versions count from 1."""

    def __init__(self) -> None:
        self._steps: dict[int, Upgrade] = {}

    def step(self, version: int) -> Callable[[Upgrade], Upgrade]:
        """Register a function for `version` -> `version` + 1; ValueError for a second one."""
        if version < 1:
            raise ValueError(f"schema versions count from 1, not {version}")

        def register(function: Upgrade) -> Upgrade:
            if version in self._steps:
                raise ValueError(f"two upgrades from schema {version}")
            self._steps[version] = function
            return function

        return register

    def plan(self, start: int, end: int) -> list[Upgrade]:
        """The steps from a stored schema to the code's own, in order; none where they are equal.

        Raises `NewerThanCode` where the stored one is newer, `NoUpgradePath` where a step misses.
        """
        if start > end:
            raise NewerThanCode(
                f"The state has schema {start}, this code {end}; install the newer code first.",
                stored=start,
                code=end,
            )
        for version in range(start, end):
            if version not in self._steps:
                raise NoUpgradePath(
                    f"No upgrade from schema {version} to {version + 1} is registered; "
                    f"the state has {start}, this code {end}.",
                    stored=start,
                    code=end,
                    missing=version,
                )
        return [self._steps[version] for version in range(start, end)]

    def upgrade(self, state: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
        """The state as schema `end`; the one given stays as it is.

        Raises what `plan` raises, and `UpgradeFailed` for a step that raises or answers no state.
        """
        steps = self.plan(start, end)
        result: Any = copied(dict(state))  # a step may well change what it is given
        for version, function in enumerate(steps, start):
            try:
                result = function(result)
                check(result)
                if not isinstance(result, dict):
                    raise InvalidValue("$", "an upgrade answers the whole state")
            except Exception as error:
                raise UpgradeFailed(
                    f"The upgrade from schema {version} to {version + 1} failed: "
                    f"{type(error).__name__}: {error}",
                    stored=start,
                    code=end,
                    failed=version,
                ) from error
        return cast(dict[str, Any], result)
