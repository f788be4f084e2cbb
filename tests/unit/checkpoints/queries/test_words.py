"""Words of a query are split as the index over titles splits them."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoints.queries.search.words import id_range, split, word_query
from tests.unit.checkpoints.builders import one, rows

IDENT = UUID("0199a3b2-1234-7abc-8def-0123456789ab")
letters = st.one_of(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)),
    st.sampled_from(" -_/.:'\"\\&|!()<>*%#@\u00a0\u2013\u3000\ufeffß検ーก0aZ"),
)


@pytest.mark.django_db
@given(st.text(letters, max_size=30))
@example("注文検索エラー INV-4711: a_b/c")
@example("ZÜRICH — 'x'")
@settings(max_examples=150, deadline=None)
def test_a_title_has_the_words_that_python_splits(title: str) -> None:
    indexed = one("SELECT tsvector_to_array(gp_thread_words(%s, %s))", (title, IDENT))
    (words,) = rows(
        "SELECT array_agg(DISTINCT lower(w)) FROM unnest(%s::text[]) w", (split(title),)
    )[0]
    assert set(indexed) == {*(words or ()), "456789ab"}
    if split(title):
        assert one(
            "SELECT gp_thread_words(%s, %s) @@ lower(%s)::tsquery",
            (title, IDENT, word_query(title)),
        )


def test_the_last_word_may_go_on() -> None:
    assert word_query("Invoice 47: te") == "'Invoice' & '47' & 'te':*"
    assert word_query("Invoice 47", whole=True) == "'Invoice' & '47'"
    assert split("%") == split(" - ") == []


def test_an_id_is_found_by_eight_digits_of_its_beginning() -> None:
    assert id_range("0199a3b") is None
    assert id_range("0199A3B2-1") == ("0199a3b21" + 23 * "0", "0199a3b21" + 23 * "f")
    assert id_range(str(IDENT)) == (IDENT.hex, IDENT.hex)
    assert id_range("teatimes") is None
