"""Each mail of a request says, as text and as HTML, that nobody reads replies to it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from approvals.notify.texts import letters, thread_letters
from approvals.notify.texts.kinds import NEWS
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
SENTENCE = "Nobody reads replies to this message."
KINDS = [kind for kind in NEWS if kind.startswith("approval.")]
BASE = "https://gatepost.example"


def test_every_mail_says_that_nobody_reads_replies(cast: Cast) -> None:
    now = datetime.now(UTC)
    row = scene.waiting(cast.workspace, scene.make_agent("payments"))
    each = {kind: letters.letter(row, kind, base=BASE, now=now) for kind in KINDS}
    each["digest"] = letters.digest([(row, kind) for kind in KINDS], base=BASE, now=now)
    news = letters.Alarm(None, "", "Event 1: altered.", now)
    each["alarm"] = letters.alarm([news], each["digest"], base=BASE)
    assert len(each) == len(KINDS) + 2 > 8
    for kind, mail in each.items():
        assert mail.text.count(SENTENCE) == 1, kind
        assert mail.html.count(SENTENCE) == 1, kind
    threads = [
        thread_letters.ThreadNews(
            thread=uuid4(), kind="thread.failed", title="x", agent="a", reason="y", at=now
        )
    ]
    mail = thread_letters.thread_letter(threads, base=BASE)
    assert (mail.text.count(SENTENCE), mail.html.count(SENTENCE)) == (1, 1)
