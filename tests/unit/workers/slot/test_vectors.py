"""Vectors of memories are made behind, follow each change, and words answer while they can't be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from checkpoints import queries, store
from checkpoints.memories import MemoryRow, NewMemory
from checkpoints.queries import Reach
from checkpoints.vectors import configured
from checkpoints.vectors.stores import VectorsAway
from tests.support.embeddings import Embeddings, embedding_server
from tests.unit.checkpoints.builders import OPERATOR, make_workspace, one, rows
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import remembering
from workers.language import nearest_memories
from workers.language.embeddings import NotEmbedded, embed, model_name
from workers.language.nearest_memories import near_thread
from workers.slot.vectors import VectorMaker

pytestmark = [pytest.mark.requirement("A11"), pytest.mark.requirement("C37")]
QUESTION = "Which warehouse shuts early?"


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    monkeypatch.setattr(nearest_memories, "_failed", {})
    with embedding_server() as seen:
        settings.GATEPOST_EMBEDDINGS = seen.setting
        yield seen


@pytest.fixture
def maker(db: None) -> VectorMaker:
    return VectorMaker(owner="worker:test")


@pytest.fixture
def qdrant(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The local mode of Qdrant's client where a server would be."""
    from qdrant_client import QdrantClient

    from checkpoints.vectors.qdrant import Qdrant

    target = Qdrant(QdrantClient(":memory:"), model="tiny", address="local", is_local=True)
    real = configured.opened

    def opened(where: str, model: str) -> Any:
        return target if where else real(where, model)

    settings.GATEPOST_VECTORS = "qdrant:http://127.0.0.1:1"
    monkeypatch.setattr(configured, "opened", opened)
    return target


def keep(workspace: UUID, text: str, **more: Any) -> MemoryRow:
    values = {"scope": "workspace", "owner": "", "kind": "fact", "source": "person"} | more
    return store.remember(workspace, NewMemory(text=text, **values), actor=OPERATOR)


def recalled(workspace: UUID, words: str, limit: int = 1, **reach: Any) -> list[str]:
    """What a thread recalls, as a node does."""
    where = Reach(workspace, **({"thread": None, "agent": "counting"} | reach))
    near, why = near_thread(words, where)
    assert not why, why
    return [row.text for row, _ in queries.recall(words, where, limit=limit, near=near)]


def make_all(maker: VectorMaker) -> None:
    while maker.turn():
        pass


def vectors(workspace: UUID) -> list[tuple[Any, ...]]:
    return rows(
        "SELECT memory_id, revision, gone, vector IS NOT NULL FROM gp_memory_vector "
        "WHERE workspace_id = %s ORDER BY memory_id",
        (workspace,),
    )


def test_a_memory_is_found_by_its_meaning(server: Embeddings, maker: VectorMaker) -> None:
    workspace = make_workspace()
    keep(workspace, "Das Lager in Bremen schliesst um vier.")
    keep(workspace, "Urlaub ist im August.")
    assert recalled(workspace, QUESTION) == [], "no word of it, and no vector yet"
    sent = len(server.texts)
    make_all(maker)
    assert len(server.texts) == sent + 1, "both with one call"
    assert recalled(workspace, QUESTION) == ["Das Lager in Bremen schliesst um vier."]
    progress = queries.vector_progress(model_name(), workspace=workspace)
    assert (progress.memories, progress.waiting) == (2, 0)


def test_remember_calls_nobody(server: Embeddings, db: None) -> None:
    workspace = make_workspace()
    keep(workspace, "The depot closes at four.")
    assert server.texts == []
    assert queries.vector_progress(model_name(), workspace=workspace).waiting == 1


def test_words_and_meaning_count_together(server: Embeddings, maker: VectorMaker) -> None:
    """One that both lists have is before those that one of them has."""
    workspace = make_workspace()
    both = keep(workspace, "The warehouse in Bremen shuts at four.").text
    keep(workspace, "Das Lager in Ulm schliesst um neun.")
    keep(workspace, "Bremen has a market on Monday.")
    make_all(maker)
    best = recalled(workspace, "Bremen warehouse", limit=3)
    assert best[0] == both
    assert set(best[1:]) == {
        "Das Lager in Ulm schliesst um neun.",
        "Bremen has a market on Monday.",
    }


def test_a_corrected_memory_is_found_by_its_new_meaning(
    server: Embeddings, maker: VectorMaker
) -> None:
    workspace = make_workspace()
    row = keep(workspace, "Das Lager schliesst um vier.")
    make_all(maker)
    assert recalled(workspace, QUESTION) == [row.text]
    new = store.correct_memory(
        row.id, workspace=workspace, text="Urlaub ist im August.", reason="No", actor=OPERATOR
    )
    assert vectors(workspace) == [(row.id, 2, False, False)], "the former vector is gone"
    assert recalled(workspace, QUESTION) == []
    make_all(maker)
    assert recalled(workspace, "vacation") == [new.text]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["forgotten", "expired", "erased"])
def test_the_vector_goes_with_its_memory(
    server: Embeddings, maker: VectorMaker, qdrant: Any, settings: Any, ending: str
) -> None:
    """In the table, in this process and in Qdrant, which has other memories still."""
    workspace = make_workspace()
    row = keep(workspace, "Das Lager schliesst um vier.", seconds=3600)
    stays = keep(workspace, "The depot opens at six.")
    make_all(maker)
    settings.GATEPOST_VECTORS = ""
    assert recalled(workspace, QUESTION) == [row.text]
    settings.GATEPOST_VECTORS = "qdrant:http://127.0.0.1:1"
    assert recalled(workspace, QUESTION) == [row.text]
    assert qdrant.revisions(workspace) == {row.id: 1, stays.id: 1}
    more: dict[str, Any] = {"workspace": workspace, "reason": "Wrong.", "actor": OPERATOR}
    if ending == "forgotten":
        assert store.forget_memories([row.id], **more) == 1
    elif ending == "expired":
        rows("UPDATE gp_memory SET expires_at = now() WHERE id = %s", (row.id,))
        assert recalled(workspace, QUESTION) == [stays.text], "before the sweep came by"
        assert store.forget_expired_memories(actor="worker:test") == 1
    else:
        rows("UPDATE gp_memory SET thread_id = id WHERE id = %s", (row.id,))
        with transaction.atomic():
            assert store.forget_memories_of_thread(row.id, **more)[0] == 1
    assert vectors(workspace) == [(row.id, 1, True, False), (stays.id, 1, False, True)]
    assert recalled(workspace, QUESTION) == [stays.text], "though Qdrant still has it"
    assert maker.turn() == 1
    assert qdrant.revisions(workspace) == {stays.id: 1}
    settings.GATEPOST_VECTORS = ""
    assert recalled(workspace, QUESTION) == [stays.text]
    assert configured.opened("", model_name()).revisions(workspace) == {stays.id: 1}


def test_what_is_forgotten_while_its_vector_is_made_gets_none(
    server: Embeddings, maker: VectorMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace()
    row = keep(workspace, "Das Lager schliesst um vier.")

    def forget_meanwhile(texts: list[str]) -> list[bytes]:
        store.forget_memories([row.id], workspace=workspace, reason="No.", actor=OPERATOR)
        return embed(texts)

    monkeypatch.setattr("workers.slot.vectors.embed", forget_meanwhile)
    make_all(maker)
    assert vectors(workspace) == [(row.id, 1, True, False)]


def test_what_is_forgotten_while_it_is_sent_leaves_the_store(
    real_db: str, server: Embeddings, qdrant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where another process has noted its removal before the late entry arrives."""
    workspace = make_workspace()
    maker = VectorMaker(owner="worker:test")
    row = keep(workspace, "Das Lager schliesst um vier.")
    assert maker.turn() == 1
    put = qdrant.put

    def forget_meanwhile(entries: Any) -> None:
        monkeypatch.setattr(qdrant, "put", put)
        store.forget_memories([row.id], workspace=workspace, reason="No.", actor=OPERATOR)
        assert maker.turn() == 1, "the other one removes it"
        put(entries)

    monkeypatch.setattr(qdrant, "put", forget_meanwhile)
    maker.turn()
    assert qdrant.revisions(workspace) == {row.id: 1}, "late"
    make_all(maker)
    assert qdrant.revisions(workspace) == {}


def test_a_thread_recalls_only_what_it_can_read(server: Embeddings, maker: VectorMaker) -> None:
    workspace, other = make_workspace(), make_workspace()
    keep(workspace, "Lager: agent b", scope="agent", owner="b")
    keep(workspace, "Lager: user 7", scope="person", owner="user:7")
    keep(other, "Lager: elsewhere")
    make_all(maker)
    assert recalled(workspace, QUESTION, agent="a") == []
    assert recalled(workspace, QUESTION, agent="b") == ["Lager: agent b"]
    assert recalled(workspace, QUESTION, agent="a", person="user:7") == ["Lager: user 7"]
    documents: dict[str, Any] = {"agent": "b", "kinds": ["document"]}
    assert recalled(workspace, QUESTION, **documents) == []


def test_a_late_commit_is_read_by_a_process_that_read_past_it(
    real_db: str, server: Embeddings
) -> None:
    """Rows of a transaction that was open while newer ones committed."""
    workspace = make_workspace()
    late, early = keep(workspace, "Das Lager A schliesst."), keep(workspace, "Urlaub im August.")
    waiting = {text.id: text for text in queries.waiting_texts(model_name(), limit=10)}
    pairs = {one: (waiting[one], embed([waiting[one].text])[0]) for one in (late.id, early.id)}
    written, read = threading.Event(), threading.Event()

    def write_late() -> None:
        try:
            with transaction.atomic():
                store.save_vectors([pairs[late.id]], model=model_name())
                written.set()
                assert read.wait(10)
        finally:
            connection.close()

    thread = threading.Thread(target=write_late)
    thread.start()
    assert written.wait(10)
    store.save_vectors([pairs[early.id]], model=model_name())
    assert recalled(workspace, "vacation") == [early.text]
    read.set()
    thread.join(10)
    assert recalled(workspace, QUESTION) == [late.text]


# ---- servers that fail ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"status": 503}, "answered 503"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "answered 302"),
        ({"answer": "no JSON"}, "gave no vectors"),
        ({"answer": '{"data": []}'}, "a vector for each text"),
        ({"answer": '{"data": [{"embedding": [NaN]}]}'}, "something else than numbers"),
        ({"answer": '{"data": [{"embedding": [0, 0]}]}'}, "no direction"),
    ],
)
def test_a_server_that_gives_no_vectors_is_named(
    server: Embeddings, broken: dict[str, Any], why: str
) -> None:
    for name, value in broken.items():
        setattr(server, name, value)
    with pytest.raises(NotEmbedded, match=why):
        embed(["A text."])
    assert len(server.texts) == 1, "a redirect is not followed"


def test_metadata_of_clouds_is_not_asked(settings: Any) -> None:
    settings.GATEPOST_EMBEDDINGS = "openai:tiny@http://169.254.169.254/v1"
    with pytest.raises(NotEmbedded, match="not an address of the public internet"):
        embed(["A text."])


def test_its_key_is_sent_and_named_by_no_error(
    server: Embeddings, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTORS_TEST_KEY", "the-secret-of-the-server")
    settings.GATEPOST_EMBEDDINGS = f"{server.setting}#VECTORS_TEST_KEY"
    server.status = 500
    with pytest.raises(NotEmbedded) as caught:
        embed(["A text."])
    assert server.keys == ["Bearer the-secret-of-the-server"]
    assert "the-secret" not in str(caught.value)


def test_words_answer_while_the_server_is_away(
    server: Embeddings, maker: VectorMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The depot closes at four.")
    server.status = 503
    with pytest.raises(NotEmbedded, match="answered 503"):
        maker.turn()
    assert queries.vector_progress(model_name(), workspace=workspace).waiting == 1
    where = Reach(workspace, None, "counting")
    near, why = near_thread("When does the depot close?", where)
    assert near == ()
    assert why == "Found by words alone: The embedding server answered 503."
    best = queries.recall("depot", where, limit=5, near=near)
    assert [one.text for one, _ in best] == [row.text]
    calls = len(server.texts)
    assert near_thread("depot", where)[1] == why
    assert len(server.texts) == calls, "it is not asked again for a while"
    server.status = 200
    monkeypatch.setattr(nearest_memories, "_failed", {})
    make_all(maker)
    assert recalled(workspace, QUESTION) == [row.text]


def test_words_answer_while_the_store_is_away(
    server: Embeddings, maker: VectorMaker, settings: Any
) -> None:
    workspace = make_workspace()
    keep(workspace, "The depot closes at four.")
    settings.GATEPOST_VECTORS = "qdrant:http://127.0.0.1:1"
    _, why = near_thread(QUESTION, Reach(workspace, None, "counting"))
    assert "Qdrant does not answer" in why
    with pytest.raises(VectorsAway):
        make_all(maker)


def test_a_text_that_is_refused_holds_up_no_other(server: Embeddings, maker: VectorMaker) -> None:
    workspace = make_workspace()
    bad = keep(workspace, "This one is unspeakable.")
    good = keep(workspace, "Das Lager schliesst um vier.")
    server.refused = "unspeakable"
    make_all(maker)
    assert vectors(workspace) == [(bad.id, 1, False, False), (good.id, 1, False, True)]
    progress = queries.vector_progress(model_name(), workspace=workspace)
    assert (progress.waiting, progress.refused) == (1, 1)
    assert one("SELECT count(*) FROM gp_set_aside WHERE part = 'vectors'") == 1
    assert recalled(workspace, QUESTION) == [good.text]


def test_another_model_makes_all_of_them_anew(
    server: Embeddings, maker: VectorMaker, settings: Any
) -> None:
    workspace = make_workspace()
    row = keep(workspace, "Das Lager schliesst um vier.")
    make_all(maker)
    settings.GATEPOST_EMBEDDINGS = server.setting.replace("tiny", "other")
    assert recalled(workspace, QUESTION) == []
    assert maker.turn() == 1
    assert recalled(workspace, QUESTION) == [row.text]


def test_vectors_of_another_length_are_not_mixed_in(server: Embeddings, maker: VectorMaker) -> None:
    workspace = make_workspace()
    keep(workspace, "Das Lager schliesst um vier.")
    make_all(maker)
    keep(workspace, "Urlaub im August.")
    server.answer = '{"data": [{"embedding": [1, 0]}]}'
    with pytest.raises(NotEmbedded, match="another model needs another name"):
        maker.turn()


# ---- in a thread ---------------------------------------------------------------------------------


@pytest.fixture
def bench(make_bench: Callable[[Any], Bench]) -> Bench:
    remembering.calls.clear()
    return make_bench(remembering)


def test_a_thread_recalls_by_meaning_and_its_record_has_references_alone(
    bench: Bench, server: Embeddings
) -> None:
    row = keep(bench.workspace, "Das Lager schliesst um vier.")
    make_all(VectorMaker(owner="worker:test"))
    thread = bench.start(question=QUESTION)
    bench.advance(thread)
    assert bench.state(thread)["answers"] == [row.text]
    (call,) = [a for a in bench.activities(thread) if a.tool == "memory.recall"]
    assert call.result == [row.ref]
    assert "words_alone" not in (call.usage or {})


def test_the_record_says_that_words_alone_answered(bench: Bench, server: Embeddings) -> None:
    keep(bench.workspace, "The depot closes at four.")
    server.status = 503
    thread = bench.start(question="depot")
    bench.advance(thread)
    assert bench.state(thread)["answers"] == ["The depot closes at four."]
    (call,) = [a for a in bench.activities(thread) if a.tool == "memory.recall"]
    assert call.usage["words_alone"].endswith("The embedding server answered 503.")


def test_expiry_needs_no_vector(server: Embeddings, maker: VectorMaker) -> None:
    workspace = make_workspace()
    row = keep(workspace, "Das Lager schliesst.", seconds=timedelta(hours=1).total_seconds())
    rows("UPDATE gp_memory SET expires_at = now() WHERE id = %s", (row.id,))
    make_all(maker)
    assert vectors(workspace) == [(row.id, 1, False, False)], "no vector is made any more"
