"""The class of tools, and the tools that are one call of the API each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final, Literal

from dashboard.documents.answer_json import Answer, schema_of

from .arguments import Arguments
from .calls import Api, ApiAnswer, ApiCall

# Arguments that stand in the address of a call.
PLACES: Final = ("thread", "approval", "memory", "sha256")

type Perform = Callable[[Any, Api], Awaitable[ApiAnswer]]
type Effect = Literal["reads", "adds", "changes"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: `rights` are the actions that its caller needs, `answers` the shapes it can give.

    `effect` tells clients whether it only reads, only adds, or changes what is there.
    """

    name: str
    title: str
    description: str
    takes: type[Arguments]
    answers: Sequence[type[Answer]]
    rights: Sequence[str]
    perform: Perform
    effect: Effect = "changes"
    is_idempotent: bool = False

    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self.takes.model_json_schema()

    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the answers; an object, since earlier clients know no other root."""
        union: Any = reduce(or_, self.answers)
        return {"type": "object", **schema_of(union)}


def reading(path: str, *names: str) -> Perform:
    """A GET of `path`; `names` are the arguments that are query parameters there."""

    async def perform(args: Arguments, api: Api) -> ApiAnswer:
        return await api(ApiCall("GET", _filled(path, args), query=query_of(args, names)))

    return perform


def changing(path: str) -> Perform:
    """A POST to `path` of the arguments that are its body."""

    async def perform(args: Arguments, api: Api) -> ApiAnswer:
        query = {"preview": "1"} if getattr(args, "preview", False) else {}
        call = ApiCall("POST", _filled(path, args), query, args.body(), args.headers())
        return await api(call)

    return perform


def query_of(args: Arguments, names: Sequence[str]) -> dict[str, str]:
    """The arguments of these names as query parameters, those that were sent."""
    values = args.model_dump(mode="json", exclude_unset=True, exclude_none=True, include={*names})
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def _filled(path: str, args: Arguments) -> str:
    return path.format(**{name: getattr(args, name, "") for name in PLACES})
