"""Words, times, escapes and trees of the pages: what reaches HTML and how."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.staticfiles.finders import find
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.states import EventKind, Status, WorkspaceEventKind
from dashboard.board.board import OPERATORS_ORDER, ORDER
from dashboard.html import differences, trees
from dashboard.html.charts import symbols
from dashboard.html.templatetags import gatepost, gatepost_forms
from dashboard.wording import events, sentences, text
from dashboard.wording.events import event_sentence

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
SHA = "ab" * 32


def render(source: str, **context: Any) -> str:
    return Template("{% load gatepost %}" + source).render(Context(context))


def event(kind: str, data: dict[str, Any] | None = None, actor: str = "user:7") -> Any:
    return SimpleNamespace(kind=kind, data=data or {}, actor=actor, imported=False)


# --- text of agents is text ----------------------------------------------------------------------


def test_markup_is_shown_not_obeyed() -> None:
    assert render("{{ x|visible }}", x="<b onclick='x'>") == "&lt;b onclick=&#x27;x&#x27;&gt;"


@pytest.mark.parametrize(
    "char", ["\u202e", "\u200b", "\ufeff", "\u2066", "\x07", "\U000e0041", "\ud800"]
)
def test_what_cannot_be_seen_is_written_out(char: str) -> None:
    shown = text.visible(f"pay{char}ee")
    assert char not in shown
    assert 'class="esc" title="' in shown
    assert f">U+{ord(char):04X}<" in shown
    assert char not in text.plain(f"pay{char}ee")
    shown.encode()


def test_line_breaks_and_emoji_stay() -> None:
    assert text.visible("a\nb\tc\r\nd ❤\ufe0f") == "a\nb\tc\r\nd ❤\ufe0f"


@pytest.mark.parametrize(
    ("word", "strange"),
    [
        ("p\u0430yp\u0430l", "U+0430"),  # Cyrillic a
        ("N\u03bfrdwind", "U+03BF"),  # Greek omicron
        ("\uff50aypal", "U+FF50"),  # a full-width p
        ("\U0001d429ay", "U+1D429"),  # a mathematical bold p
        ("\u041f\u0440\u0438\u0432e\u0442", "U+0065"),  # a Latin e in a Russian word
        ("a\ufe0f", "U+FE0F"),  # a selector where no emoji is
        ("\u2764\ufe0f\ufe0f", "U+FE0F"),  # and a second one
        ("x\U000e0100", "U+E0100"),
        ("a\u2800b", "U+2800"),
    ],
)
def test_letters_that_pretend_are_written_out(word: str, strange: str) -> None:
    assert text.has_hidden(word)
    assert f">{strange}<" in text.visible(word)
    assert f"[{strange}]" in text.plain(word)


@pytest.mark.parametrize(
    "word",
    [
        "\u041f\u0440\u0438\u0432\u0435\u0442 Nordwind",
        "\u03b1\u03b2\u03b3-Version",
        "\u00c5ngstr\u00f6m \u00b5m \u0141\u00f3d\u017a",
        "\u6771\u4eacTower",
        "\u0e44\u0e17\u0e22",
        "\u2764\ufe0f 1\ufe0f\u20e3",
    ],
)
def test_words_of_one_script_stay(word: str) -> None:
    assert not text.has_hidden(word)
    assert text.visible(word) == word


def test_long_texts_are_folded_and_counted_not_cut() -> None:
    raw = "".join(f"{n:06d}\n" for n in range(2_000))
    shown = Template("{% load decision %}{{ x|full }}").render(Context({"x": raw}))
    assert "12,800 more characters" in shown
    assert (
        unescape(re.sub("<br>", "\n", re.sub("<summary>.*?</summary>|<(?!br)[^>]*>", "", shown)))
        == raw
    )


def test_a_tree_to_decide_on_leaves_nothing_out() -> None:
    long = "x" * 30_000
    shown = trees.render({"a": long, "b": {"c": 1}}, {"a": "y", "b": {"c": 1}}, whole=True)
    assert shown.count("x") >= 30_000
    assert "29,600 more characters" in shown
    assert '<details open><summary class="ln"><span class="k">b:' in shown


@given(st.text())
def test_nothing_is_lost_and_no_tag_slips_through(raw: str) -> None:
    shown = text.visible(raw)
    assert not re.search(r"<(?!/?span)", shown)
    if not text.has_hidden(raw):
        assert unescape(shown) == raw


# --- statuses and events -------------------------------------------------------------------------


def test_every_status_has_shape_colour_and_word_of_its_own() -> None:
    assert set(sentences.LOOKS) == set(Status)
    looks = list(sentences.LOOKS.values())
    assert len({look.icon for look in looks}) == len(looks)
    assert len({look.word for look in looks}) == len(looks)
    assert set(ORDER) == set(OPERATORS_ORDER) == set(Status)
    badge = gatepost.status_badge(Status.WAITING, pill=True)
    assert 'class="st t-wait pill"' in badge
    assert "#i-wait" in badge
    assert badge.endswith("Waiting</span>")


def test_every_event_kind_has_a_sentence_and_a_symbol_of_the_file() -> None:
    known = set(re.findall(r'id="i-([a-z]+)"', Path(find(symbols.FILE)).read_text()))
    kinds = {*EventKind, *WorkspaceEventKind}
    assert set(events.KINDS) == kinds, "each kind has one record in dashboard/wording/events.py"
    for kind in kinds:
        message = event_sentence(event(kind, {"reason": "because", "error": "because"}))
        assert message
        assert "{" not in message
        assert events.event_icon(kind) in known
        assert re.fullmatch("t-(idle|run|wait|done|stuck|fail)", events.event_tone(kind))
    assert {look.icon for look in sentences.LOOKS.values()} <= known
    assert {icon for icon, _, _ in gatepost.VERBS.values()} <= known


def test_sentences_name_people_nodes_and_reasons() -> None:
    people = {"user:7": "ada"}
    assert event_sentence(event("thread.cancelled", {"reason": "too late"}), people) == (
        "ada cancelled the thread: too late"
    )
    decided = event("approval.decided", {"verdict": "reject", "title": "Pay?", "comment": "no"})
    assert event_sentence(decided, people) == "ada rejected Pay?: “no”"
    committed = event("checkpoint.committed", {"number": 4, "nodes": ["clean"], "next": ["draft"]})
    assert event_sentence(committed) == "Checkpoint 4 after clean, next draft"
    rolled_back = event("checkpoint.committed", {"number": 7, "next": ["clean"]})
    assert event_sentence(rolled_back) == "Checkpoint 7, next clean"
    assert event_sentence(event("stranger.came_by", {"text": "hi"})) == "Stranger came by: hi"
    taken = {"from": "pay", "to": ["mail", "__end__"], "because": "all is paid"}
    assert event_sentence(event("way.taken", taken)) == ("pay → mail and the end: all is paid")
    assert event_sentence(event("way.taken", {"to": []})) == "here → the end"
    assert sentences.person("worker:host-5:41:ab12") == "worker host-5"
    assert len(event_sentence(event("thought.recorded", {"text": "x" * 999}))) <= 200


def test_an_event_of_an_agent_cannot_bring_markup() -> None:
    thought = event("thought.recorded", {"text": "<script>alert(1)</script>"})
    assert "<script" not in render("{% event_sentence e %}", e=thought)


def test_a_total_counts_all_threads() -> None:
    assert gatepost.total({Status.RUNNING: 3, Status.WAITING: 1}) == 4


def test_a_row_on_the_board_says_what_happens() -> None:
    row = SimpleNamespace(
        status=Status.RUNNING,
        external=None,
        status_reason="",
        next_nodes=("draft",),
        waiting_on=None,
        stuck=None,
        stopped=None,
    )
    assert gatepost.thread_line(row) == "Working on draft"
    row.stuck = SimpleNamespace(reason="No event for 4 minutes.")
    assert gatepost.thread_line(row) == "No event for 4 minutes."
    row.stopped = SimpleNamespace(sentence="Stopped by a breaker.")
    assert gatepost.thread_line(row) == "Stopped by a breaker."
    row.stuck = row.stopped = None
    row.status, row.waiting_on = Status.WAITING, {"titles": ["Publish?"], "approval": "x"}
    assert gatepost.thread_line(row) == "Publish?"
    assert gatepost.approval_of(row) == ""
    ident = uuid4()
    row.waiting_on = {"approvals": [str(ident)]}
    assert gatepost.approval_of(row) == str(ident)
    row.status_reason = "Column “a” is <broken>"
    assert gatepost.thread_line(row) == "Column “a” is &lt;broken&gt;"


# --- times, sizes, ids ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (2, "now"),
        (12, "12 s"),
        (59, "59 s"),
        (61, "1 min"),
        (840, "14 min"),
        (7800, "2 h 10"),
        (3 * 86400, "3 d"),
    ],
)
def test_ages(seconds: int, message: str) -> None:
    assert text.since(NOW - timedelta(seconds=seconds), now=NOW) == message


@pytest.mark.parametrize(
    ("seconds", "message"), [(2421, "40:21"), (9, "0:09"), (7800, "2 h 10"), (-3, "over")]
)
def test_time_left(seconds: int, message: str) -> None:
    assert text.left(NOW + timedelta(seconds=seconds), now=NOW) == message


def test_times_are_marked_up_for_the_counting_script() -> None:
    shown = gatepost.age(NOW)
    assert 'datetime="2026-11-21T14:00:00Z"' in shown
    assert "data-age" in shown
    assert "data-clock" in gatepost.clock(NOW)
    assert gatepost.clock(None) == gatepost.age(None) == gatepost.left(None) == "–"
    assert gatepost.deadline_used(NOW, NOW) == 0
    far = datetime.now(UTC) + timedelta(hours=1)
    assert gatepost.deadline_used(datetime.now(UTC) - timedelta(hours=1), far) == 50


def test_sizes_spans_numbers_and_short_forms() -> None:
    assert [text.size(n) for n in (812, 41_200, 3_240_000, None)] == [
        "812 B",
        "41 kB",
        "3.2 MB",
        "–",
    ]
    assert [text.span(s) for s in (0.012, 0.4, 12, 90, None)] == [
        "12 ms",
        "0.4 s",
        "12 s",
        "2 min",
        "–",
    ]
    assert [text.number(n) for n in (336776, 12.0, "x", True)] == ["336,776", "12", "x", "True"]
    assert gatepost.short_id("0197-aaaa-bbbbccdd11ee") == "ccdd11ee"
    assert gatepost.short_hash("9f2c41aa0be7" + "0" * 48 + "d310") == "9f2c 41aa 0be7 … d310"
    assert gatepost.initials("ada lovelace") == "al"


# --- JSON as a tree ------------------------------------------------------------------------------


def lines(html: str) -> dict[str, str]:
    """{key: css of its line}."""
    matches = re.findall(r'class="(ln[^"]*)">\s*<span class="k">([^<]*):', html)
    return {key: css for css, key in matches}


def test_a_tree_shows_types_by_form() -> None:
    html = trees.render({"s": "x", "n": 1.5, "b": True, "z": None, "l": [], "o": {"k": 1}})
    assert '<span class="s">"x"</span>' in html
    assert '<span class="n">1.5</span>' in html
    assert '<span class="b">null</span>' in html
    assert "{ 1 key }" in html
    assert "[ ]" in html


def test_differences_are_marked_and_unfolded() -> None:
    old = {"same": {"deep": 1}, "gone": 1, "changed": 1, "inner": {"a": 1, "b": 2}, "kind": [1]}
    new = {
        "same": {"deep": 1},
        "fresh": {"x": 1},
        "changed": 2,
        "inner": {"a": 1, "b": 3},
        "kind": {"a": 1},
    }
    html = trees.render(new, old)
    assert lines(html) == {
        "same": "ln", "fresh": "ln add", "x": "ln d1 add", "changed": "ln chg",
        "inner": "ln", "a": "ln d1 chg", "b": "ln d1 chg", "kind": "ln chg", "gone": "ln del",
    }  # fmt: skip
    assert '<del><span class="n">1</span></del> <ins><span class="n">2</span></ins>' in html
    assert len(re.findall("<details open>", html)) == 3  # fresh, inner, kind; not same
    assert "{ 1 key } unchanged" in html
    assert differences.changes(new, old) == differences.Changes(added=1, changed=3, removed=1)


def test_of_many_added_items_a_few_are_seen_and_the_rest_is_behind_one_fold() -> None:
    """Nothing is left out; what was there is counted."""
    added = [{"amount": str(n)} for n in range(77)]
    html = trees.render({"payments": [{"amount": "x"}, *added]}, {"payments": [{"amount": "x"}]})
    shown, fold, folded = html.partition("… 74 more added")
    assert fold
    amounts = [re.findall(r'class="s">"(\w+)"', part) for part in (shown, folded)]
    assert amounts == [["0", "1", "2"], [str(n) for n in range(3, 77)]]
    assert "… 1 unchanged" in html
    opened = shown.rpartition("<details")[2]
    assert " open" not in opened
    assert html.count("<ul") == html.count("</ul>")
    assert html.count("<details") == html.count("</details>")
    assert "more added" not in trees.render({"few": added[:6]}, {"few": []})
    assert "more added" not in trees.render({"words": list("abcdefghij")}, {"words": []})
    assert "more added" not in trees.render({"p": added}, {"p": []}, whole=True)
    assert "… 74 more removed" in trees.render({"p": []}, {"p": added}, whole=True)
    # So many that the list is cut as well: both are said.
    long = trees.render({"p": [{"n": n} for n in range(500)]}, {"p": []})
    assert "… 497 more added" in long
    assert "… 297 more</span>" in long
    assert long.count("<ul") == long.count("</ul>")


def test_true_is_not_one() -> None:
    assert differences.changes({"a": True}, {"a": 1}).changed == 1
    assert differences.changes({"a": 1.0}, {"a": 1}).changed == 1


def test_nothing_changed_is_said_too() -> None:
    assert differences.changes({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}) == differences.Changes(
        0, 0, 0
    )


def test_keys_and_strings_of_agents_are_escaped() -> None:
    html = trees.render({"<img src=x>": "<script>\u202e"})
    assert "<img" not in html
    assert "<script" not in html
    assert "U+202E" in html


def test_long_things_are_cut_and_say_so() -> None:
    html = trees.render({"text": "a" * 5000, "list": list(range(5000))})
    assert "4,600 more" in html
    assert "4,800 more" in html
    assert len(html) < 60_000
    wide = trees.render(
        {f"k{i}": {"x": i} for i in range(200)} | {"deep": [[i] * 50 for i in range(200)]}
    )
    assert len(wide) < 1_000_000


def test_depth_of_a_hundred_is_no_error() -> None:
    value: Any = 1
    for _ in range(100):
        value = {"k": value}
    assert "{ 1 key }" in trees.render(value)


def test_a_file_is_a_link_with_its_hash() -> None:
    file = {"$artifact": SHA, "name": "<report>.md", "size": 5120}
    html = trees.render({"report": file})
    assert "&lt;report&gt;.md" in html
    assert "5.1 kB" in html
    assert f'title="{SHA}"' in html
    other = file | {"$artifact": "cd" * 32}
    assert differences.changes({"report": other}, {"report": file}) == differences.Changes(0, 1, 0)
    assert "$artifact" in trees.render({"report": {"$artifact": "../../etc", "name": "x"}})


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_json, _json)
def test_any_two_values_can_be_compared(new: Any, old: Any) -> None:
    state, before = {"v": new}, {"v": old}
    changes = differences.changes(state, before)
    html = trees.render(state, before)
    marked = len(re.findall(r'class="ln[^"]* (?:add|chg|del)"', html))
    assert (changes == differences.Changes(0, 0, 0)) == (marked == 0)
    assert html.count("<ul") == html.count("</ul>")
    assert html.count("<details") == html.count("</details>")


# --- tags ----------------------------------------------------------------------------------------


def test_form_faults_and_fates_are_summed() -> None:
    field = SimpleNamespace(name="f-a", channel="a", label="A", error="This is not a number.")
    fine = SimpleNamespace(name="f-b", channel="b", label="B", error="")
    why = SimpleNamespace(name="reason", channel="reason", label="Reason", error="Say why.")
    errors = {"reason": "Say why.", "a": "This is not a number.", "": "The thread moved."}
    errors |= {"known": "Confirm it."}
    faults = gatepost_forms.form_faults([field, fine], {"reason": why}, errors)
    assert faults.links == [("f-a", "A"), ("reason", "Reason"), ("known", "Known")]
    assert faults.whole == ["The thread moved."]
    assert faults.total == 4
    fates = [SimpleNamespace(fate=f) for f in ("undoable", "stays", "undoable")]
    assert gatepost.fate_counts(fates) == {"undoable": 2, "stays": 1, "unknown": 0}


def test_badges_have_a_look_for_everything_stored() -> None:
    for state in ("planned", "started", "done", "failed", "unknown", "compensated"):
        assert state in gatepost.ACTIVITY_LOOKS
    approval = SimpleNamespace(outcome="", status="pending")
    assert "Waiting for a decision" in gatepost.approval_badge(approval)
    approval.outcome = "reject"
    assert "Rejected" in gatepost.approval_badge(approval)
    approval.outcome, approval.status = "", "expired"
    assert "Expired" in gatepost.approval_badge(approval)
