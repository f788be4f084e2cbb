"""Filters and tags of the pages: status, time, text of agents, JSON, events.

Everything an agent or a person wrote reaches HTML through `visible` or Django's own escaping.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.deputies.changes import REASON_MAX as DEPUTY_REASON_MAX
from approvals.states import COMMENT_MAX
from checkpoints.limits import TITLE_MAX
from checkpoints.state import marked
from checkpoints.views import ThreadRow
from dashboard.fields.validation import REASON_MAX
from dashboard.html import blocking_policy, differences, file_links, list_pairs, step_times, trees
from dashboard.html.charts.symbols import address, symbol
from dashboard.html.model_calls import model_call_of
from dashboard.wording import amounts, events, sentences, text
from dashboard.wording.savings import counted
from dashboard.wording.usages import seconds_taken

register = template.Library()

for shown in (text.visible, text.prose, text.plain, text.moment, text.number, text.span):
    register.filter(shown)
register.filter("has_hidden", text.has_hidden)
register.filter("bytes", text.size)
register.filter("capped", text.capped)
register.filter("spent", amounts.spent)
register.filter("event_icon", events.event_icon)
register.filter("event_tone", events.event_tone)
register.filter("blocking_policy", blocking_policy.blocking_policy)
register.filter("json_text", trees.pretty)
register.filter("times_words", step_times.words)
register.filter("worker", sentences.worker)
register.filter("labels_text", text.labels)
register.simple_tag(symbol, name="icon")
register.filter("symbol", address)

# verb of an action -> icon, word on the button, key
VERBS = {
    "pause": ("pause", "Pause", "p"),
    "resume": ("play", "Resume", "p"),
    "retry": ("retry", "Retry", "r"),
    "skip": ("skip", "Skip…", ""),
    "signal": ("msg", "Send signal…", ""),
    "edit": ("edit", "Edit…", "e"),
    "fork": ("fork", "Fork…", "f"),
    "rollback": ("undo", "Roll back…", "b"),
    "cancel": ("cancel", "Cancel…", ""),
}
# What a field of this name takes, in characters.
LIMITS = {
    "title": TITLE_MAX,
    "reason": REASON_MAX,
    "comment": COMMENT_MAX,
    "deputy": DEPUTY_REASON_MAX,
}
RISKS = {"high": ("t-fail", "stuck"), "medium": ("t-wait", "wait"), "low": ("t-idle", "queued")}
VERDICTS = {
    "approve": ("t-done", "done", "Approved"),
    "edit": ("t-done", "done", "Approved with edits"),
    "respond": ("t-run", "msg", "Answered"),
    "reject": ("t-fail", "fail", "Rejected"),
}
FATES = {
    "undoable": ("t-done", "done", "Will be undone"),
    "stays": ("t-stuck", "stuck", "Stays done"),
    "unknown": ("t-wait", "wait", "Unknown"),
}
ACTIVITY_LOOKS = {
    "planned": ("t-idle", "queued"),
    "started": ("t-run", "run"),
    "done": ("t-done", "done"),
    "failed": ("t-fail", "fail"),
    "unknown": ("t-stuck", "stuck"),
    "compensated": ("t-idle", "undo"),
}


def _badge(tone: str, name: str, word: str, *, pill: bool = False) -> SafeString:
    return format_html(
        '<span class="st {}{}">{}{}</span>',
        tone,
        " pill" if pill else "",
        symbol(name),
        word,
    )


@register.simple_tag
def status_badge(status: object, label: str = "", pill: bool = False) -> SafeString:
    """Shape, colour and word of a status."""
    seen = sentences.look(status)
    return _badge(seen.tone, seen.icon, label or seen.word, pill=pill)


@register.simple_tag
def thread_badge(row: ThreadRow, pill: bool = False) -> SafeString:
    """The badge of a thread's status; one whose agent elsewhere fell silent says so."""
    if sentences.is_silent(row):
        return _badge("t-stuck", "stuck", "Agent silent", pill=pill)
    return status_badge(row.status, pill=pill)


@register.simple_tag
def approval_badge(approval: Any, pill: bool = False) -> SafeString:
    """The badge of an approval: open, held, its outcome, expired or withdrawn."""
    if approval.outcome:
        return _badge(*VERDICTS.get(approval.outcome, VERDICTS["approve"]), pill=pill)
    if approval.status == "pending":
        return _badge("t-wait", "wait", "Waiting for a decision", pill=pill)
    return _badge("t-idle", "cancel", str(approval.status).capitalize(), pill=pill)


@register.simple_tag
def risk_badge(risk: str) -> SafeString:
    """Shape, colour and word of a risk."""
    tone, name = RISKS.get(risk, RISKS["medium"])
    return _badge(tone, name, str(risk).capitalize())


@register.simple_tag
def fate_badge(fate: str) -> SafeString:
    """The badge of an effect's fate in a rollback."""
    return _badge(*FATES.get(fate, FATES["unknown"]))


@register.simple_tag
def activity_badge(state: str) -> SafeString:
    """Shape, colour and word of a save point's state."""
    tone, name = ACTIVITY_LOOKS.get(state, ("t-idle", "queued"))
    return _badge(tone, name, str(state).capitalize())


@register.filter
def tone(status: object) -> str:
    """The tone class of a status."""
    return sentences.look(status).tone


@register.filter
def status_icon(status: object) -> str:
    """The symbol of a status."""
    return sentences.look(status).icon


@register.filter
def status_word(status: object) -> str:
    """The word of a status."""
    return sentences.look(status).word


@register.filter
def status_why(status: object) -> str:
    """The reason why threads are in this lane, in one sentence."""
    return sentences.look(status).why


@register.filter
def risk_tone(risk: str) -> str:
    """The tone class of a risk."""
    return RISKS.get(risk, RISKS["medium"])[0]


@register.filter
def risk_icon(risk: str) -> str:
    """The symbol of a risk."""
    return RISKS.get(risk, RISKS["medium"])[1]


@register.filter
def total(counts: Mapping[Any, int] | None) -> int:
    """All threads of the counters."""
    return sum((counts or {}).values())


def _time(at: datetime, shown: str, attribute: str) -> SafeString:
    at = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" {}>{}</time>',
        at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        attribute,
        shown,
    )


@register.filter
def age(at: datetime | None) -> SafeString | str:
    """The time since then, counted on by times.js."""
    return _time(at, text.since(at), "data-age") if at else "–"


@register.filter
def clock(at: datetime | None) -> SafeString | str:
    """The time of day in UTC; times.js writes it in the reader's own zone."""
    if not at:
        return "–"
    today = datetime.now(UTC).date() == at.astimezone(UTC).date()
    return _time(
        at, at.astimezone(UTC).strftime("%H:%M:%S" if today else "%d %b %H:%M"), "data-clock"
    )


@register.filter
def left(until: datetime | None) -> SafeString | str:
    """The time left, counted down by times.js."""
    return _time(until, text.left(until), "data-left") if until else "–"


@register.filter
def seconds_left(until: datetime | None) -> int:
    """Whole seconds until a time, not below 0."""
    return max(int((until - datetime.now(UTC)).total_seconds()), 0) if until else 0


@register.simple_tag
def deadline_used(since: datetime | None, until: datetime | None) -> int:
    """The part of the time for a decision that has passed, in per cent."""
    if not since or not until or until <= since:
        return 0
    part = (datetime.now(UTC) - since).total_seconds() / (until - since).total_seconds()
    return max(0, min(100, round(part * 100)))


@register.filter
def iso(at: datetime) -> str:
    """A time as machines read it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


@register.filter
def short_id(value: object) -> str:
    """The last eight characters of an id: uuid7 begins with the time, so ends differ most."""
    return str(value).replace("-", "")[-8:]


@register.filter
def short_hash(value: object) -> str:
    """A hash as people compare it: groups of four, the middle left out."""
    raw = str(value)
    return f"{raw[:4]} {raw[4:8]} {raw[8:12]} … {raw[-4:]}" if len(raw) > 20 else raw


@register.filter
def took(activity: Any) -> float | None:
    """Seconds that an activity worked."""
    return seconds_taken(activity)


register.filter("model_call", model_call_of)


@register.filter
def get(mapping: Mapping[Any, Any] | None, key: Any) -> Any:
    """`mapping|get:key`; empty text when it is not there."""
    return (mapping or {}).get(key, "")


@register.filter
def initials(name: object) -> str:
    """Two letters for a person."""
    words = str(name).replace(".", " ").replace("_", " ").split()
    return "".join(w[0] for w in words[:2]) if len(words) > 1 else str(name)[:2]


@register.simple_tag
def event_sentence(event: Any, people: Mapping[str, str] | None = None) -> SafeString:
    """Describe an event in plain words."""
    return text.prose(events.event_sentence(event, people or None))


@register.simple_tag
def person(actor: str, people: Any = None, imported: bool = False) -> SafeString:
    """The name of an actor; `imported` as on the row that names it."""
    return text.visible(sentences.person(actor, people or None, imported=bool(imported)))


register.filter("decider", sentences.decider)


@register.filter
def is_silent(row: ThreadRow) -> bool:
    """True if the agent of a thread that works elsewhere let its lease run out."""
    return sentences.is_silent(row)


@register.filter
def thread_line(row: Any) -> SafeString:
    """Describe in words what a thread is doing."""
    return text.prose(sentences.thread_line(row))


@register.simple_tag
def json_tree(
    value: Any,
    before: Any = None,
    compare: bool = False,
    unfold: int = 1,
    schema: Any = None,
    sides: Any = None,
    most: int = 0,
) -> SafeString:
    """JSON as a folding tree; with `compare`, what changed against `before` is marked.

    With `sides` it is light: parts below two levels are links. It has at most `most` lines, without
    that as many as a phone's page takes.
    """
    old = before if compare else list_pairs.MISSING
    most = most or (trees.LINES if sides else trees.ALONE)
    return trees.render(value, old, unfold=unfold, schema=schema, sides=sides, most=most)


@register.simple_tag
def json_changes(value: Any, before: Any, schema: Any = None) -> differences.Changes:
    """Count the values added, changed and removed."""
    return differences.changes(value, before, schema)


register.simple_tag(differences.changed_channels)


@register.filter
def message_text(message: Any) -> str:
    """A message or a member of a config as people wrote it: text as it is, all else as JSON."""
    return sentences.as_text(message)


@register.filter
def marked_kinds(result: Any) -> str:
    """The kinds of what stands in a marked form in a recorded result; empty without such parts."""
    return ", ".join(sorted({kind for _, kind in marked.marks(result)}))


@register.filter
def verb_icon(verb: str) -> str:
    """The symbol of an action."""
    return VERBS.get(verb, ("check", verb, ""))[0]


@register.filter
def verb_word(verb: str) -> str:
    """The label of an action's button."""
    return VERBS.get(verb, ("check", verb, ""))[1]


@register.filter
def verb_key(verb: str) -> str:
    """The key of an action."""
    return VERBS.get(verb, ("check", verb, ""))[2]


@register.filter
def approval_of(row: Any) -> str:
    """The id of the approval a thread waits on, as its row names it; empty when it names none."""
    waits = row.waiting_on
    if not isinstance(waits, Mapping):
        return ""
    result = waits.get("approval") or next(iter(waits.get("approvals") or ()), "")
    try:
        return str(UUID(str(result)))
    except ValueError:
        return ""


register.filter("counted", counted)


@register.filter
def plan_progress(plan: Sequence[Any] | None) -> str:
    """Say how far a plan is: "2 of 5", or "68 steps done" where nodes worked several times."""
    visits = sum(step.visits for step in plan or ())
    done = sum(1 for step in plan or () if step.state == "done")
    return f"{done} of {len(plan or ())}" if visits == done else counted(visits, "step") + " done"


@register.simple_tag
def limit(name: str) -> int:
    """The `maxlength` of the field of this name, in characters."""
    return LIMITS[name]


@register.simple_tag
def fate_counts(fates: Iterable[Any] | None) -> dict[str, int]:
    """Count the effects that will be undone, stay or are unknown."""
    results = [fate.fate for fate in fates or ()]
    return {name: results.count(name) for name in FATES}


@register.simple_tag
def file_url(sha: str, name: str, inline: bool = False) -> str:
    """The address of a file under the name that this page shows."""
    return file_links.file_url(sha, name, inline=inline)


@register.simple_tag
def pictures(value: Any) -> list[dict[str, str]]:
    """{sha, name} of the PNG files that a proposal refers to, each once: what can be shown."""
    results = {
        file["$artifact"]: str(file.get("name") or "picture")
        for file in trees.files(value)
        if file.get("media_type") == "image/png"
    }
    return [{"sha": sha, "name": name} for sha, name in results.items()]
