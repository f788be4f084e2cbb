"""One HTTP request of a client: its message answered here, or passed on to the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

import structlog
from django.conf import settings

from checkpoints import errors as ground
from checkpoints.state import marked
from dashboard.http.body_limits import Receive
from dashboard.live import process
from dashboard.live.followers import wait_for_news
from workers.authoring.errors import StepFailed
from workers.step.answers import bounded_text
from workers.step.secret_values import masked, read_secret, without_secrets

from . import calls, tasks
from .calls import Begin, Call, Decided, Dispatch, Ended, Held
from .conversations import Client, Stopped
from .endpoint import client_of
from .gateway import Gateway
from .listings import shown_capabilities, shown_tools
from .registry import changes
from .registry.refusals import refusal
from .responses import Responder
from .upstream import methods, wire
from .upstream.inquiry import PAGES_MAX
from .upstream.streamable_http import (
    PROTOCOL,
    SESSION,
    Broken,
    NoSession,
    NotSent,
    Reply,
    Sending,
    is_answer,
    secrets_of,
)
from .upstream.wire import Message

log = structlog.get_logger("gatepost.mcp")
# How often a held call is looked at though no news came.
POLL_SECONDS: Final = 2.0
# A server that lists its tools before an approved call goes out.
LIST_SECONDS: Final = 45.0


class Session:
    """Answers one message."""

    def __init__(
        self,
        gateway: Gateway,
        scope: dict[str, Any],
        headers: Mapping[str, str],
        name: str,
        respond: Responder,
    ) -> None:
        self._gateway, self._scope, self._headers = gateway, scope, headers
        self._name, self._respond = name, respond

    def client(self, tool: str = "") -> Client:
        """Look up who sends this, and the tool; in a thread. Raises ActionError."""
        return client_of(self._scope, self._headers, self._name, tool)

    async def take(self, raw: bytes, receive: Receive) -> None:
        """Answer a message; raises ActionError and Refused before anything was answered."""
        message = wire.parse(raw)
        try:
            # What has begun is carried out and recorded though its client leaves.
            match methods.route(message):
                case "call" | "read":
                    await asyncio.shield(self._gateway.spawn(self._call(message)))
                case "task":
                    await asyncio.shield(self._gateway.spawn(self._task(message)))
                case "passed":
                    await self._pass_on(message, receive)
                case None:
                    await self._gateway.in_thread(self.client)  # a stranger learns nothing of it
                    raise methods.unlisted(message)
        except wire.Refused as refused:
            await self._respond.end(refused.answer(message.get("id")), refused.status)
        except ground.InvalidValue as error:
            invalid = wire.Refused(wire.INVALID_PARAMS, error.message)
            await self._respond.end(invalid.answer(message.get("id")))

    async def end(self) -> None:
        """End the session with the server, as the client wants it."""
        client = await self._gateway.in_thread(self.client)
        try:
            sending = self._sending(client, {"jsonrpc": "2.0"})
            if client.server.transport == "command":
                status = await self._gateway.commands.close_at(
                    client.server, client.prefix, sending.session
                )
            else:
                status = await self._gateway.http.close_at(client.server, sending)
        except NotSent:
            status = 502
        await self._respond.end(None, status if status < 500 else 502)

    # ---- what is passed on ----------------------------------------------------------------------

    def _sending(self, client: Client, message: Message, schema: Any = None) -> Sending:
        name = client.server.credential
        if why := refusal(client.server):
            raise NotSent(why)
        try:
            secret = read_secret(name) if name else ""
        except StepFailed as error:
            raise NotSent(f"The gateway lacks the credential of {client.server.name}.") from error
        session, protocol = self._headers.get(SESSION, ""), self._headers.get(PROTOCOL, "")
        governed = message.get("method") == methods.CALL or message.get("method") in methods.READS
        sent = wire.passed_on(message, governed=governed)
        return Sending(sent, session, protocol, secret, schema)

    def _sent(self, client: Client, sending: Sending) -> AbstractAsyncContextManager[Reply]:
        if client.server.transport == "command":
            return self._gateway.commands.send(client.server, client.prefix, sending)
        return self._gateway.http.send(client.server, sending)

    async def _pass_on(self, message: Message, receive: Receive) -> None:
        client = await self._gateway.in_thread(self.client)
        work = asyncio.ensure_future(self._exchange(client, message))
        gone = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            work.cancel()
            outcome, _ = await asyncio.gather(work, gone, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome

    async def _exchange(self, client: Client, message: Message) -> None:
        secrets: set[str] = set()
        try:
            sending = self._sending(client, message)
            secrets = secrets_of(sending)
            async with self._sent(client, sending) as reply:
                self._respond.session = reply.session
                if not wire.is_request(message):
                    await self._respond.end(None, reply.status if reply.status < 500 else 502)
                    return
                async for one in reply.messages:
                    if not is_answer(one, message["id"]):
                        await self._note(client, sending, one, self._respond.note)
                        continue
                    answer = await self._shown(client, message, _without(one, secrets))
                    await self._respond.end(answer, reply.status)
                    return
            raise Broken(f"{client.server.name} ended its answer too early.")
        except NoSession:
            await self._respond.end(None, 404)
        except (NotSent, Broken) as error:
            refused = wire.Refused(wire.INTERNAL_ERROR, masked(str(error), secrets), 502)
            await self._respond.end(refused.answer(message.get("id")), refused.status)

    async def _shown(self, client: Client, message: Message, answer: Message) -> Message:
        """An answer as the client gets it."""
        result, method = answer.get("result"), message["method"]
        if method == "ping" or "result" not in answer:
            return answer
        if not isinstance(result, dict):
            raise Broken(f"{client.server.name} answered {method} with something else.")
        if method == "tools/list":
            shown = await self._gateway.in_thread(shown_tools, client, result)
            return answer | {"result": shown}
        modern = method == "server/discover"
        return answer | {"result": shown_capabilities(client.server, result, modern=modern)}

    async def _note(self, client: Client, sending: Sending, one: Message, note: Any) -> None:
        """Pass on what a server says before its answer where it is listed, else refuse it."""
        if methods.passes_to_client(one):
            if note is not None:
                await note(without_secrets(one, secrets_of(sending)))
        elif "method" in one and one.get("id") is not None:
            self._gateway.spawn(self._refuse_server(client, sending, one))

    async def _refuse_server(self, client: Client, sending: Sending, request: Message) -> None:
        """Answer a server that no client gets what it asked."""
        try:
            async with self._sent(client, replace(sending, message=methods.no_method(request))):
                return
        except (NotSent, Broken) as error:
            why = masked(str(error), secrets_of(sending))
            log.info("mcp.refusal_not_sent", server=client.server.name, why=why)

    # ---- tool calls and reads -------------------------------------------------------------------

    async def _call(self, message: Message) -> None:
        begin = self._begin_tool(message)
        status = 200
        try:
            begun = await self._begun(message, begin)
            if isinstance(begun, Held):
                if wire.knows_tasks(message) and message["method"] == methods.CALL:
                    thread = begun
                    task = await self._gateway.in_thread(
                        lambda: tasks.created(self.client(), thread)
                    )
                    await self._respond.end(wire.result(message["id"], task))
                    return
                begun = await self._hold(message, begun)
            if isinstance(begun, Dispatch):
                answer, status = await self.dispatch(begun, message, self._respond.note)
            elif isinstance(begun, Ended) and begun.result is not None:
                answer = wire.result(message["id"], begun.result)
            else:
                answer = self._says(message, _sentence(begun, message["method"]))
        except NoSession:
            await self._respond.end(None, 404)
            return
        except Stopped as stopped:
            where = calls.thread_url(stopped.thread)
            answer = self._says(message, f"{stopped.reason} A person has to look at {where}")
        except StepFailed as error:
            answer = self._says(message, error.message)
        except (ground.NotAllowedNow, ground.ConcurrentModificationError) as error:
            answer = self._says(message, error.message)
        await self._respond.end(answer, status)

    def _says(self, message: Message, text: str, code: int = wire.NOT_ALLOWED) -> Message:
        """A sentence for the agent: as the result of a tool, as the error of anything else."""
        if message["method"] != methods.CALL:
            return wire.Refused(code, text).answer(message["id"])
        return wire.result(message["id"], wire.text_result(text, modern=wire.is_modern(message)))

    async def _begun(self, message: Message, begin: Callable[[bool], Begin]) -> Begin:
        """Begin in a thread; a decided call once its server has listed the tool again.

        Raises StepFailed where it does not list it.
        """
        begun = await self._gateway.in_thread(begin, False)
        if not isinstance(begun, Decided):
            return begun
        if why := await self._list_again(begun.call, message):
            raise StepFailed(f"The call did not happen: {why} It is still approved.")
        return await self._gateway.in_thread(begin, True)

    async def _list_again(self, call: Call, message: Message) -> str:
        """Note what the server lists now; says why an approved call can't go out, else empty.

        Where the definition is another one by now, the hold on changed tools applies.
        """
        client, tools, secrets = call.client, [], set[str]()
        meta = {k: v for k, v in wire.meta_of(message).items() if k in wire.META_OF_REQUEST}
        params: Message = {"_meta": meta} if meta else {}
        try:
            async with asyncio.timeout(LIST_SECONDS):
                for _ in range(PAGES_MAX):
                    query = {"jsonrpc": "2.0", "id": uuid4().hex, "method": "tools/list"}
                    sending = self._sending(client, query | {"params": params})
                    secrets = secrets_of(sending)
                    answer = await self._answer_of(client, sending, None)
                    page = answer.get("result")
                    if not isinstance(page, dict) or not isinstance(page.get("tools"), list):
                        raise Broken(f"{client.server.name} does not list its tools.")
                    tools += without_secrets(page["tools"], secrets)
                    if not page.get("nextCursor"):
                        break
                    params = {**params, "cursor": page["nextCursor"]}
                else:
                    raise Broken(f"{client.server.name} lists no end of tools.")
            await self._gateway.in_thread(
                lambda: changes.note_listed(client.server, tools, actor=client.owner)
            )
        except TimeoutError:
            return f"{client.server.name} took too long to list its tools."
        except NoSession:
            raise  # the client begins a new session by itself
        except (NotSent, Broken, ground.InvalidValue) as error:
            return masked(str(error), secrets)
        if call.name not in {tool["name"] for tool in tools}:
            return f"{client.server.name} no longer lists the tool {call.name!r}."
        return ""

    def _begin_tool(self, message: Message) -> Callable[[bool], Begin]:
        """Read a call or a read; what looks at everything in a thread, then begins it."""
        method = message["method"]
        if method == methods.CALL:
            name, args, plain = wire.tool_call(message, methods.CALL_PARAMS)
        else:
            name, args, plain = method, methods.read_params(message), True

        def begin(listed: bool) -> Begin:
            if method == methods.CALL:
                call = calls.checked(self.client(name), name, args)
            else:
                call = calls.checked_read(self.client(), name, args)
            if isinstance(call, Ended):
                return call
            return calls.begin(self._gateway.conversations, call, plain=plain, listed=listed)

        return begin

    def again(self, thread: UUID, listed: bool) -> Begin:
        """In a thread: look at everything anew, then begin a held call where it was decided."""
        client = self.client()
        row, call = calls.own(client, str(thread))
        return tasks.proceed(client, row, call, listed=listed)

    async def _hold(self, message: Message, held: Held) -> Begin:
        """Keep a held call open for a while, with progress where the client wants it."""
        began = time.monotonic()
        until = began + float(settings.GATEPOST_MCP_HOLD_SECONDS)
        token = wire.meta_of(message).get("progressToken")
        hub = await process.hub()
        with hub.followers.follow(held.thread) as news:
            while (left := until - time.monotonic()) > 0:
                if token is not None:
                    await self._respond.note(_progress(token, time.monotonic() - began, held))
                await wait_for_news(news, min(left, POLL_SECONDS))
                news.clear()
                begun = await self._begun(message, partial(self.again, held.thread))
                if not isinstance(begun, Held):
                    return begun
                held = begun
        return held

    async def dispatch(
        self, at: Dispatch, message: Message, note: Any = None
    ) -> tuple[Message, int]:
        """Send a call that has started to its server, and record the outcome.

        (the answer for the client, its HTTP status).
        """
        client, modern = at.call.client, wire.is_modern(message)
        params = {k: v for k, v in message.get("params", {}).items() if k != "task"}
        if at.call.method == methods.CALL:
            params |= {"name": at.call.name, "arguments": dict(at.args)}
        else:
            params = dict(at.args) | {k: v for k, v in params.items() if k == "_meta"}
        sent = message | {"method": at.call.method, "params": params}
        lost = 200 if at.call.method == methods.CALL else 502
        secrets: set[str] = set()
        self._gateway.at_work.add(at)
        try:
            sending = self._sending(client, sent, at.call.schema)
            secrets = secrets_of(sending)
            answer = await self._answer_of(client, sending, note)
        except NotSent as error:
            why = masked(str(error), secrets)
            await self._settle(at, "failed", error=why)
            if isinstance(error, NoSession) and note is not None:
                raise  # the client begins a new session by itself
            text = f"The call did not happen: {why}"
            return self._says(message, text, wire.INTERNAL_ERROR), lost
        except Broken as error:
            why = masked(str(error), secrets)
            await self._settle(at, "unknown", error=why)
            where = calls.thread_url(at.work.thread)
            text = f"Nobody knows whether the call happened: {why} {where}"
            return self._says(message, text, wire.INTERNAL_ERROR), lost
        except Exception:
            await self._settle(at, "unknown", error="The gateway failed; its log says more.")
            raise
        finally:
            self._gateway.at_work.discard(at)
        if "error" in answer:
            error_of = answer["error"]
            text = str(error_of.get("message", "")) if isinstance(error_of, dict) else ""
            await self._settle(at, "failed", error=masked(text, secrets)[:1000] or "It failed.")
            shown: Message = without_secrets(answer, secrets)
            return shown | {"id": message.get("id")}, 200
        result = answer.get("result")
        return await self._recorded(at, message, result, secrets, modern=modern), 200

    async def _recorded(
        self, at: Dispatch, message: Message, result: Any, secrets: set[str], *, modern: bool
    ) -> Message:
        """The answer with the result as it came, which is on record exactly so.

        One that holds a secret is withheld from the record, and from the client of a tool.
        """
        is_call = at.call.method == methods.CALL
        if not is_call:
            result = without_secrets(result, secrets)
        form, shown = marked.mark(result), result
        why = masked(calls.secret_in(form, secrets), secrets)
        if why and (is_call or isinstance(result, marked.Raw)):
            shown = wire.text_result(f"The call happened. {why}", modern=modern)
        form = (
            {"withheld": why} if why else await self._gateway.in_thread(calls.kept_form, at, form)
        )
        if not await self._settle(at, "done", result=form):
            where = calls.thread_url(at.work.thread)
            text = f"A person took the thread away while the call was at work: {where}"
            return self._says(message, text)
        return wire.result(message.get("id"), shown)

    async def _settle(
        self, at: Dispatch, state: calls.Outside, *, result: Any = None, error: str = ""
    ) -> bool:
        why = bounded_text(error)  # the server's words, which may hold what no table takes

        def settle() -> bool:
            return calls.settle(self._gateway.conversations, at, state, result=result, error=why)

        return await self._gateway.in_thread(settle)

    async def _answer_of(self, client: Client, sending: Sending, note: Any) -> Message:
        """The server's answer to a call; what it says before is passed on."""
        async with self._sent(client, sending) as reply:
            async for one in reply.messages:
                if is_answer(one, sending.message.get("id")):
                    return one
                await self._note(client, sending, one, note)
        raise Broken(f"{client.server.name} ended its answer too early.")

    # ---- tasks ----------------------------------------------------------------------------------

    async def _task(self, message: Message) -> None:
        if not wire.is_request(message):
            await self._respond.end(None, 202)
            return
        task, method = tasks.checked(message), message["method"]

        def act(listed: bool) -> tasks.Acted:
            client = self.client()
            try:
                return tasks.act(client, method, task, listed=listed)
            except (ground.NotFound, StepFailed) as error:
                raise wire.Refused(wire.INVALID_PARAMS, error.message) from error
            except (ground.NotAllowedNow, ground.ConcurrentModificationError) as error:
                raise wire.Refused(wire.INTERNAL_ERROR, error.message) from error

        acted = await self._gateway.in_thread(act, False)
        if acted.decided is not None:
            try:
                why = await self._list_again(acted.decided.call, message)
            except NoSession as error:
                why = str(error)
            if not why:
                acted = await self._gateway.in_thread(act, True)
            else:
                waits = f"Approved, and not sent yet: {why}"
                acted = tasks.Acted(acted.result | {"statusMessage": waits})
        if acted.dispatch is not None:
            # Its own message: the one that asks how the task stands says nothing of the call.
            meta = wire.meta_of(message)
            method = acted.dispatch.call.method
            call = {"jsonrpc": "2.0", "id": task, "method": method, "params": {"_meta": meta}}
            self._gateway.spawn(self.dispatch(acted.dispatch, call))
        await self._respond.end(wire.result(message["id"], acted.result))


def _sentence(begun: Begin, method: str) -> str:
    """The sentence for the agent about a call that did not happen."""
    if isinstance(begun, Held):
        if begun.at_work:
            return "The same call is at work already. Call it again to get its result."
        links = " ".join(begun.links) or calls.thread_url(begun.thread)
        text = f"The call waits for approval: {links} Nothing has happened. Once it is approved, "
        if method != methods.CALL:
            return text + f"send {method} again with exactly the same parameters."
        return text + "call the tool again with exactly the same arguments."
    if isinstance(begun, Ended):
        return f"The call did not happen. {begun.reason}".strip()
    raise TypeError(f"{begun!r} is at work")


def _without(answer: Message, secrets: set[str]) -> Message:
    """An answer without the server's credential; raises Broken where it can't be taken out."""
    result = answer.get("result")
    if isinstance(result, marked.Raw) and calls.secret_in(marked.mark(result), secrets):
        raise Broken("The answer holds a credential.")
    shown: Message = without_secrets(answer, secrets)
    return shown


def _progress(token: Any, seconds: float, held: Held) -> Message:
    text = "Waiting for approval: " + (" ".join(held.links) or calls.thread_url(held.thread))
    params = {"progressToken": token, "progress": round(seconds, 1), "message": text}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


async def _left(receive: Receive) -> None:
    """Return once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
