"""The address of a board: read back as written, refused at the word, tolerant of old words."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.queries import InvalidQuery
from checkpoints.states import Status
from dashboard.board.filters.address import COLUMNS, USUAL, BoardAddress, read_address, readable
from dashboard.errors import Invalid

TEXTS = st.text("ab %&=,ä+", max_size=12).map(str.strip)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "status": st.lists(st.sampled_from(Status), unique=True, min_size=1, max_size=3).map(tuple),
        "agent": TEXTS.filter(bool),
        "framework": TEXTS.filter(bool),
        "q": st.sampled_from(("tea", "status:failed age:>2h", '"a & b" -label:team=x')),
        "damaged": st.just(True),
        "parent": st.uuids(),
        "root": st.uuids(),
        "depth": st.integers(0, 9),
        "children": st.just(True),
        "held": st.just(True),
    },
)
BOARDS = st.builds(
    BoardAddress,
    values=VALUES,
    columns=st.sets(st.sampled_from([*COLUMNS])).map(
        lambda some: tuple(name for name in COLUMNS if name in some)
    ),
    density=st.sampled_from(("comfortable", "compact")),
)


@given(BOARDS)
def test_a_board_is_read_back_from_its_address(board: BoardAddress) -> None:
    assert read_address(board.text) == board
    assert read_address(f"/?{board.text}&after=x") == board, "a place in a list is left out"
    assert readable(board.text) == (board.text, "")


def test_the_usual_board_has_no_address() -> None:
    assert BoardAddress().text == ""
    assert read_address("columns=step,age,node,since&density=comfortable").text == ""
    assert read_address("columns=thread").columns == ()
    assert read_address("columns=thread&columns=cost&columns=age").text == "columns=age,cost"
    assert BoardAddress.read(parse_qs("q=tea")).columns == USUAL


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("statsu=failed", "a board does not take “statsu”. Did you mean “status”?"),
        ("status=faild", "“status” does not take “faild”. Did you mean “failed”?"),
        ("columns=cots", "“columns” does not take “cots”. Did you mean “cost”?"),
        ("density=tight", "“density” does not take “tight”"),
        ("failed", "a board does not take “failed”"),
        ("agent=%ff", "begins no letter"),
        ("agent=a&agent=b", "names “agent” 2 times"),
        ("parent=7", "“parent” does not take “7”"),
        ("agent=" + "a" * 201, "at most 200 characters"),
    ],
)
def test_a_wrong_word_is_refused_and_named(text: str, word: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_address(text)
    assert caught.value.path == "$.address"
    assert word in caught.value.reason


def test_a_wrong_query_is_refused_at_its_word() -> None:
    with pytest.raises(InvalidQuery) as caught:
        read_address("status=failed&q=agent:a statsu:failed")
    assert caught.value.word == "statsu:"


def test_an_old_word_of_the_look_is_left_out_and_one_of_a_filter_is_not() -> None:
    address, problem = readable("status=failed&columns=cost,team&density=dense")
    assert address == "status=failed&columns=cost"
    assert "no longer known" in problem
    for text in ("state=failed", "status=lost", "q=team:a"):
        assert readable(text)[0] == text, "its page explains it; without it more would be shown"
        assert readable(text)[1]
