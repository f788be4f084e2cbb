"""Quiet hours in the nights in which clocks are put forward and back."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.incidents.models import QuietHours

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")


def hours(begins: str, ends: str, zone: str) -> QuietHours:
    return QuietHours(begins=time.fromisoformat(begins), ends=time.fromisoformat(ends), zone=zone)


@pytest.mark.parametrize(
    ("begins", "ends", "zone", "now", "end"),
    [
        # 02:30 comes twice in Berlin: the second one is the end, and there is no gap before it.
        ("22:00", "02:30", "Europe/Berlin", "2026-10-24T22:00", "2026-10-25T01:30"),
        ("22:00", "02:30", "Europe/Berlin", "2026-10-25T00:45", "2026-10-25T01:30"),
        ("22:00", "02:30", "Europe/Berlin", "2026-10-25T01:15", "2026-10-25T01:30"),
        ("22:00", "02:30", "Europe/Berlin", "2026-10-25T01:30", None),
        ("02:15", "07:00", "Europe/Berlin", "2026-10-25T01:05", "2026-10-25T06:00"),
        ("22:00", "01:30", "America/New_York", "2026-11-01T06:15", "2026-11-01T06:30"),
        ("22:00", "01:45", "Australia/Lord_Howe", "2026-04-04T15:05", "2026-04-04T15:15"),
        # 02:30 does not come in Berlin: it is half an hour after 02:00 all the same.
        ("22:00", "02:30", "Europe/Berlin", "2026-03-29T00:30", "2026-03-29T01:30"),
        ("22:00", "02:30", "Europe/Berlin", "2026-03-29T01:15", "2026-03-29T01:30"),
        ("22:00", "02:30", "Europe/Berlin", "2026-03-29T01:30", None),
        ("02:15", "07:00", "Europe/Berlin", "2026-03-29T01:20", "2026-03-29T05:00"),
    ],
)
def test_the_night_of_a_changed_clock(
    begins: str, ends: str, zone: str, now: str, end: str | None
) -> None:
    result = hours(begins, ends, zone).end_after(datetime.fromisoformat(f"{now}+00:00"))
    assert result == (None if end is None else datetime.fromisoformat(f"{end}+00:00"))


@given(
    st.sampled_from(ZONES),
    st.integers(0, 1_439),
    st.integers(1, 1_380),
    st.integers(0, 425 * 1_440),
)
def test_news_waits_for_a_moment_to_come_at_which_the_hours_are_over(
    zone: str, begins: int, length: int, now: int
) -> None:
    first, last = (time(*divmod(n % 1_440, 60)) for n in (begins, begins + length))
    quiet = QuietHours(begins=first, ends=last, zone=zone)
    moment = datetime(2025, 12, 1, tzinfo=UTC) + timedelta(minutes=now)
    end = quiet.end_after(moment)
    if end is None:
        return
    assert moment < end <= moment + timedelta(hours=24)
    assert quiet.end_after(end) is None
    assert quiet.end_after(end - timedelta(microseconds=1)) == end
