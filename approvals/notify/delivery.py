"""One claimed message: first everything it needs is read, then it is sent without the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection

from checkpoints import queries as ground
from checkpoints.encryption.columns import EncryptedColumn
from checkpoints.errors import CannotDecrypt, InvalidValue, NotFound
from checkpoints.state import deltas

from .. import queries
from ..gates.prior_effects import prior_effects
from ..hooks.stored_secrets import ENDPOINT_ADDRESS, ENDPOINT_SECRETS
from ..queries import ApprovalRow
from . import devices
from .channels import addresses, mail, push, webhook
from .channels import signature as signing
from .channels.kinds import CHANNELS
from .due_deliveries import Claim
from .models import PushDevice
from .texts import bodies, letters
from .texts.access_letters import access_letter
from .texts.budget_letters import BUDGETS_PATH, budget_letter, news_data
from .texts.incident_kinds import MESSAGES
from .texts.incident_letters import incident_letter, incident_news, incident_path
from .texts.kinds import ACCESS, ALARMS, BUDGETS, CALLS, TEST, THREADS, Delivered, NotDelivered
from .texts.letters import Alarm, Letter
from .texts.thread_letters import thread_letter, thread_news

GONE = frozenset({404, 410})  # how a push service says that a device no longer exists
NO_LONGER_OPEN = "Decided or ended before it was sent."
CLOSED = "The incident was closed before it was sent."


class Useless(Exception):
    """Nothing is left to send; the text says why."""


def prepared(claimed: Claim) -> Callable[[], int]:
    """Build the call that sends the message without the database; it returns the answer's code.

    Raises NotDelivered where it cannot be sent, Useless where it need not be.
    """
    if claimed.kind == "webhook":
        return _webhook(claimed)
    written = _letter(claimed)
    if claimed.kind == "push":
        return _push(claimed, written)
    if claimed.kind in CHANNELS:
        return CHANNELS[claimed.kind].prepared(_address(claimed), written.subject, written.text)
    # Empty where the process that spread the news did not have the key of the address.
    to = _mail_of(claimed, claimed.recipient or _address(claimed))
    ident = f"{claimed.deliveries[0].hex}.{len(claimed.deliveries)}"
    return lambda: mail.send_mail(to, written, ident=ident)


def _webhook(claimed: Claim) -> Callable[[], int]:
    body = _body(claimed)
    timestamp = int(claimed.now.timestamp())
    valid = signing.valid(claimed.secrets, now=claimed.now)
    if not valid:
        raise NotDelivered("The endpoint has no secret to sign with.", final=True)
    keys = [_readable(ENDPOINT_SECRETS, stored, claimed) for stored in valid]
    headers = signing.headers(keys, ident=claimed.webhook_id, timestamp=timestamp, body=body)
    address = _address(claimed)

    def send() -> int:
        try:
            target = addresses.parse(address)
        except InvalidValue:
            raise NotDelivered("The address of the endpoint is no longer allowed.") from None
        return webhook.post(target, body, headers, timeout=settings.GATEPOST_SEND_SECONDS)

    return send


def _address(claimed: Claim) -> str:
    return _readable(ENDPOINT_ADDRESS, claimed.address, claimed)


def _readable(column: EncryptedColumn, stored: str, claimed: Claim) -> str:
    try:
        return column.decrypt(stored, claimed.endpoint)
    except CannotDecrypt as error:
        # Tried again later: the key may come back with a restart.
        raise NotDelivered(error.message) from None


def _push(claimed: Claim, written: Letter) -> Callable[[], int]:
    """Prepare one message to each device of the person; one that took it is enough."""
    _person(claimed, claimed.recipient)
    to = devices.of_person(claimed.workspace, claimed.recipient)
    if not to:
        raise Useless("The person has no device that takes push.")
    message = bodies.push_body(written, url=_push_page(claimed), most=push.MESSAGE_MAX)

    def send() -> int:
        code, gone, failed = None, [], None
        for one in to:
            try:
                code = _send_to(one, message, now=claimed.now)
            except NotDelivered as error:
                if error.code in GONE:
                    gone.append(one.id)
                else:
                    failed = error
        if code is not None:
            arrived = Delivered(code)
            arrived.gone = tuple(gone)
            return arrived
        refused = failed or NotDelivered("The person has no device left.", final=True)
        refused.gone = tuple(gone)
        raise refused

    return send


def _send_to(device: PushDevice, message: bytes, *, now: datetime) -> int:
    try:
        keys = devices.opened(device)
        target = addresses.parse(keys.address)
    except CannotDecrypt as error:
        # Tried again later: the key may come back with a restart.
        raise NotDelivered(error.message) from None
    except InvalidValue:
        raise NotDelivered("The address of the device is no longer allowed.") from None
    body = push.encrypted(message, p256dh=keys.p256dh, auth=keys.auth)
    headers = push.headers(target, now=now)
    return webhook.post(target, body, headers, timeout=settings.GATEPOST_SEND_SECONDS)


def _push_page(claimed: Claim) -> str:
    """The page that a click opens: that of the one thing it is about, else the list of them."""
    pages = [page for news, kind in claimed.news if (page := _page_of(news, kind))]
    if len(set(pages)) == 1:
        return pages[0]
    return f"{base()}/approvals/" if any(kind in CALLS for _, kind in claimed.news) else base()


def _page_of(news: UUID, kind: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT thread_id, approval_id, data::text FROM gp_outbox WHERE id = %s::uuid", (news,)
        )
        row = cursor.fetchone()
    if row is None:
        return ""
    thread, approval, data = row
    return _page(kind, thread, approval, deltas.decode(data))


def _body(claimed: Claim) -> bytes:
    news, kind = claimed.news[0]
    if kind == TEST:
        return bodies.body(kind, at=claimed.now, workspace=claimed.workspace)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, at, workspace_id, thread_id, checkpoint_id, approval_id, data::text "
            "FROM gp_outbox WHERE id = %s::uuid",
            (news,),
        )
        row = cursor.fetchone()
    if row is None:
        raise Useless("The news is gone.")
    kind, at, workspace, thread, checkpoint, approval, text = row
    data = deltas.decode(text)
    return bodies.body(
        kind,
        at=at,
        workspace=workspace,
        thread=thread,
        checkpoint=checkpoint,
        approval=approval,
        url=_page(kind, thread, approval, data),
        data=data,
    )


def _letter(claimed: Claim) -> Letter:
    if claimed.news[0][1] == TEST:
        return letters.trial(_name(claimed.endpoint), base=base())
    access = [one for news, kind in claimed.news if kind == ACCESS and (one := news_data(news))]
    if access:
        left = tuple(one for one in claimed.news if one[1] != ACCESS)
        try:
            other = _letter(replace(claimed, news=left)) if left else None
        except Useless:
            other = None
        return access_letter(access, other, base=base())
    incidents = [news for news, kind in claimed.news if kind in MESSAGES]
    if incidents:
        rest = replace(claimed, news=tuple(one for one in claimed.news if one[1] not in MESSAGES))
        return _incident_letter(incidents, rest)
    spent = [one for news, kind in claimed.news if kind in BUDGETS and (one := news_data(news))]
    if not spent:
        return _other_letter(claimed)
    others = any(kind not in BUDGETS for _, kind in claimed.news)
    try:
        return budget_letter(spent, _other_letter(claimed) if others else None, base=base())
    except Useless:
        return budget_letter(spent, base=base())


def _other_letter(claimed: Claim) -> Letter:
    """Letter of all that is new beside budgets."""
    alarms = [alarm for news, kind in claimed.news if kind in ALARMS and (alarm := _alarm(news))]
    rows = [
        (row, kind)
        for news, kind in claimed.news
        if (row := _request(news, claimed.workspace)) is not None
        and (row.open or kind not in CALLS)
    ]
    threads = [one for news, kind in claimed.news if kind in THREADS and (one := thread_news(news))]
    if threads:
        rest = letters.digest(rows, base=base(), now=claimed.now) if rows else None
        if alarms:
            rest = letters.alarm(alarms, rest, base=base())
        return thread_letter(threads, rest, base=base())
    if alarms:
        rest = letters.digest(rows, base=base(), now=claimed.now) if rows else None
        return letters.alarm(alarms, rest, base=base())
    if not rows:
        raise Useless(NO_LONGER_OPEN)
    # Of one request the last news counts: an escalation after its reminder, not both.
    newest = {row.id: (row, kind) for row, kind in rows}
    if len(newest) == 1:
        last = rows[-1]
        return letters.letter(
            *last,
            base=base(),
            now=claimed.now,
            approved=_approved(last[0]),
            prior=prior_effects(last[0]),
        )
    return letters.digest(list(newest.values()), base=base(), now=claimed.now)


def _incident_letter(news: Sequence[UUID], claimed: Claim) -> Letter:
    """The letter of incidents as they are now, with the rest for the same recipient."""
    rows = incident_news(news)
    if not rows and not claimed.news:
        raise Useless(CLOSED)
    try:
        rest = _letter(claimed) if claimed.news else None
    except Useless:
        if not rows:
            raise
        rest = None
    return incident_letter(rows, rest, base=base()) if rows or rest is None else rest


def _page(kind: str, thread: UUID | None, approval: UUID | None, data: Mapping[str, Any]) -> str:
    """The address of the page that shows it."""
    if kind in MESSAGES:
        return f"{base()}{incident_path(data['incident'])}"
    if approval is not None:
        return f"{base()}/approvals/{approval}/"
    if kind in THREADS:
        return f"{base()}/threads/{thread}/"
    if kind in BUDGETS:
        return f"{base()}{BUDGETS_PATH}"
    if kind in ALARMS:
        return f"{base()}{letters.damage_path(thread)}"
    return ""


def _alarm(news: UUID) -> Alarm | None:
    """Read the damage that was found; None where the news is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n.thread_id, coalesce(th.title, w.name), n.data::text, n.at, n.kind "
            "FROM gp_outbox n "
            "JOIN gp_workspace w ON w.id = n.workspace_id "
            "LEFT JOIN gp_thread th ON th.id = n.thread_id WHERE n.id = %s::uuid",
            (news,),
        )
        row = cursor.fetchone()
    if row is None:
        return None
    thread, title, data, at, kind = row
    what = str(deltas.decode(data)["what"])
    return Alarm(thread, title, what, at, kind)


def _approved(row: ApprovalRow) -> tuple[int, int]:
    now = row.progress
    return now.approvals, now.approvals + now.missing


def _request(news: UUID, workspace: UUID) -> ApprovalRow | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT approval_id FROM gp_outbox WHERE id = %s::uuid", (news,))
        row = cursor.fetchone()
    if row is None or row[0] is None:
        return None
    try:
        return queries.approval(row[0], workspace=workspace)
    except NotFound:
        return None


def _mail_of(claimed: Claim, recipient: str) -> str:
    """The address to write to; a person's is read now, so that a new one is used immediately."""
    if not recipient.startswith("user:"):
        return recipient
    address = str(_person(claimed, recipient).email)
    if not address:
        raise NotDelivered("The person has no mail address; add one in the records.", final=True)
    return address


def _person(claimed: Claim, recipient: str) -> Any:
    """The user to write to; raises Useless where they left since the news was spread."""
    users = get_user_model()._default_manager.filter(pk=int(recipient[5:]), is_active=True)
    if (user := users.first()) is None:
        raise Useless("The person can no longer sign in.")
    places = {workspace for workspace, _, _ in ground.memberships(user.pk)}
    if claimed.workspace not in places and not user.is_superuser:
        raise Useless("The person has no role in this workspace any more.")
    return user


def _name(endpoint: UUID) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM gp_endpoint WHERE id = %s::uuid", (endpoint,))
        row = cursor.fetchone()
    return str(row[0]) if row else "?"


def base() -> str:
    """The address under which people open Gatepost."""
    return str(settings.GATEPOST_BASE_URL).rstrip("/")
