"""The pages say in the tool's own sentence what was done, with its name beside it."""

from __future__ import annotations

from django.test import Client

from checkpoints import queries
from checkpoints.chain import verify_thread
from tests.cast import Cast

from . import scene

SAID = "Paid 24 invoices, 222,532.88 EUR <b>"
SHOWN = "Paid 24 invoices, 222,532.88 EUR &lt;b&gt;"


def test_previews_and_save_points_say_the_sentence(cast: Cast, operator: Client) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="one")
    told = scene.effect(work, key="publish:0", sentence=SAID)
    plain = scene.effect(work, key="publish:1")
    target = queries.checkpoint_by_number(work.thread, 0).id
    for at in ("", "cancel/", f"rollback/?checkpoint={target}"):
        html = operator.get(f"/threads/{work.thread}/{at}").content.decode()
        (row,) = (r for r in html.split("<tr ") if str(told) in r)
        assert SHOWN in row
        assert "publish</code>" in row
        (row,) = (r for r in html.split("<tr ") if str(plain) in r)
        assert SHOWN not in row
        assert "publish" in row
    assert verify_thread(work.thread).intact
