"""Tools that are announced by name, beside those that are known."""

from __future__ import annotations

import pytest

from gatepost_client import agent, effect, step
from gatepost_client.wire.errors import NotConfigured


@effect(idempotent=True)
def announced_here() -> None:
    """Known by its decorator."""


@step
def looked_up_here() -> None:
    """Known by its decorator as well."""


@pytest.mark.requirement("E02")
def test_steps_are_announced_as_tools_that_change_nothing() -> None:
    @agent
    def looks() -> None: ...

    assert looks.describe()["tools"]["looked_up_here"] == {"effect": False}


@pytest.mark.requirement("E02")
def test_tools_are_announced_by_name_and_known_ones_keep_what_is_known() -> None:
    @agent("pays", announce=["pay", "announced_here"])
    def pays() -> None: ...

    tools = pays.describe()["tools"]
    assert tools["pay"] == {}
    assert tools["announced_here"]["idempotent"] is True


def test_one_text_is_no_list_of_names() -> None:
    with pytest.raises(NotConfigured, match="announce"):

        @agent("pays", announce="pay")
        def pays() -> None: ...
