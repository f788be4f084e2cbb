"""Searchable arguments of a Python agent: announced by name, refused where there is none."""

from __future__ import annotations

import pytest

from gatepost_client import agent
from gatepost_client.wire.errors import NotConfigured


def test_arguments_are_announced_by_name() -> None:
    @agent("orders", searchable=("customer",))
    def orders(customer: str, month: str) -> None: ...

    assert orders.describe()["searchable"] == ["customer"]

    @agent
    def plain(customer: str) -> None: ...

    # Servers of before refuse a word that they do not know.
    assert "searchable" not in plain.describe()


@pytest.mark.parametrize(
    ("names", "reason"),
    [(("custmer",), "has no argument named custmer"), ("customer", "takes a list of names")],
)
def test_other_names_are_refused_at_once(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(NotConfigured, match=reason):

        @agent("orders", searchable=names)
        def orders(customer: str) -> None: ...
