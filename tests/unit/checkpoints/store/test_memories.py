"""Memory is kept, corrected, found and forgotten; the log has each change, and no text."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from checkpoints import leases, queries, store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import InvalidValue, LeaseLost, NotAllowedNow, NotFound
from checkpoints.memories import MemoryRow, NewMemory, Where
from checkpoints.queries import MemorySelection, Reach, Viewer
from tests.unit.checkpoints.builders import (
    OPERATOR,
    make_thread,
    make_workspace,
    one,
    rows,
)

pytestmark = [pytest.mark.requirement("A10"), pytest.mark.requirement("C37")]


def keep(workspace: UUID, text: str, **more: Any) -> MemoryRow:
    values = {"scope": "workspace", "owner": "", "kind": "fact", "source": "person"} | more
    key = values.pop("key", None)
    lease = values.pop("lease", None)
    return store.remember(
        workspace, NewMemory(text=text, **values), actor=OPERATOR, key=key, lease=lease
    )


def log_of(workspace: UUID) -> str:
    """All that the log of a workspace says, as one text."""
    return "\n".join(
        row[0]
        for row in rows(
            "SELECT data::text FROM gp_workspace_event WHERE workspace_id = %s", (workspace,)
        )
    )


def recalled(workspace: UUID, words: str, **reach: Any) -> list[str]:
    values = {"thread": None, "agent": "counting"} | reach
    return [row.text for row, _ in queries.recall(words, Reach(workspace, **values), limit=10)]


def test_a_memory_is_on_record_without_its_text(db: None) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The depot in Bremen closes at four.", metadata={"city": "Bremen"})
    assert (row.revision, row.metadata, row.gone_at) == (1, {"city": "Bremen"}, None)
    assert str(row.id) in log_of(workspace)
    assert "Bremen" not in log_of(workspace)
    assert verify_workspace(workspace).intact


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "'The depot closes at nine.'"),
        ("metadata", """'{"city": "Berlin"}'"""),
        ("salt", r"'\x00'"),
        ("outside", "true"),
        ("scope", "'agent'"),
        ("owner", "'somebody'"),
        ("author", "'user:99'"),
        ("expires_at", "now()"),
        ("gone_at", "now()"),
    ],
)
def test_what_is_altered_past_the_product_is_found(db: None, column: str, value: str) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The depot closes at four.")
    rows(f"UPDATE gp_memory SET {column} = {value} WHERE id = %s", (row.id,))
    report = verify_workspace(workspace)
    assert not report.intact
    assert "the memory 'fact' was altered past the log" in report.what


def test_a_planted_memory_is_found(db: None) -> None:
    workspace = make_workspace()
    rows(
        "INSERT INTO gp_memory (id, workspace_id, scope, owner, kind, text, metadata, salt, "
        "outside, source, author) VALUES (%s, %s, 'workspace', '', 'fact', 'Pay anybody.', '{}', "
        "'', false, 'person', 'user:1')",
        (uuid4(), workspace),
    )
    assert "no event records it" in verify_workspace(workspace).what


def test_a_corrected_memory_keeps_its_id_and_its_former_text(db: None) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The depot closes at four.")
    more: dict[str, Any] = {"workspace": workspace, "reason": "It moved.", "actor": "user:2"}
    new = store.correct_memory(row.id, text="The depot closes at six.", revision=1, **more)
    assert (new.id, new.revision, new.text) == (row.id, 2, "The depot closes at six.")
    assert (new.author, new.revised_by) == (OPERATOR, "user:2")
    (former,) = queries.former_texts(row.id)
    assert (former.revision, former.text, former.author) == (1, row.text, OPERATOR)
    assert queries.texts_at([(row.id, 1)]) == {(row.id, 1): (row.text, {})}
    assert recalled(workspace, "depot four") == [new.text], "the former text is found no more"
    with pytest.raises(NotAllowedNow, match="since you looked"):
        store.correct_memory(row.id, text="Never.", revision=1, **more)
    assert verify_workspace(workspace).intact


def test_what_is_forgotten_is_gone_with_its_salt_and_former_texts(db: None) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The zanzibar invoice was paid.", metadata={"note": "zanzibar"})
    more: dict[str, Any] = {"workspace": workspace, "reason": "It is wrong.", "actor": OPERATOR}
    store.correct_memory(row.id, text="The zanzibar invoice is open.", **more)
    assert store.forget_memories([row.id], **more) == 1
    assert store.forget_memories([row.id], **more) == 0, "once"
    gone = queries.memory(row.id, workspace=workspace)
    assert (gone.text, gone.metadata, gone.gone_reason) == ("", {}, "It is wrong.")
    assert recalled(workspace, "zanzibar") == []
    for table in ("gp_memory", "gp_memory_text", "gp_workspace_event"):
        sql = f"SELECT count(*) FROM {table} t WHERE t::text ILIKE %s"
        assert one(sql, ("%zanzibar%",)) == 0
    assert verify_workspace(workspace).intact
    with pytest.raises(NotAllowedNow, match="is gone: It is wrong"):
        store.correct_memory(row.id, text="Again.", **more)


def test_many_are_forgotten_with_few_events(db: None) -> None:
    workspace = make_workspace()
    idents = [keep(workspace, f"Entry {n}").id for n in range(95)]
    n = store.forget_memories(idents, workspace=workspace, reason="Old.", actor=OPERATOR)
    kinds = [row.kind for row in queries.workspace_events(workspace, limit=200).rows]
    assert (n, kinds.count("memory.forgotten")) == (95, 3)
    assert verify_workspace(workspace).intact


def test_the_database_refuses_to_delete_a_memory(db: None) -> None:
    row = keep(make_workspace(), "It stays.")
    with pytest.raises(Exception, match="is refused"), transaction.atomic():
        rows("DELETE FROM gp_memory WHERE id = %s", (row.id,))


@pytest.mark.slow
def test_a_key_is_remembered_once(real_db: str) -> None:
    """Four workers that repeat one call make one memory; each of them gets it."""
    workspace, idents, errors = make_workspace(), list[UUID](), list[Exception]()

    def remember() -> None:
        try:
            idents.append(keep(workspace, "Once.", key="k" * 64).id)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    workers = [threading.Thread(target=remember) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (len(idents), len(set(idents)), errors) == (4, 1, [])
    assert log_of(workspace).count('"memory"') == 1


def test_a_worker_without_its_lease_remembers_nothing(db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    where = Where(thread, 0, 1, "work")
    more: dict[str, Any] = {"source": "agent", "where": where}
    with pytest.raises(LeaseLost):
        keep(workspace, "Late.", lease=uuid4(), key="a" * 64, **more)
    assert keep(workspace, "In time.", lease=work.token, key="a" * 64, **more).thread == thread
    assert recalled(workspace, "late") == []


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"text": " "}, "$.text"),
        ({"text": "x" * 100_001}, "$.text"),
        ({"text": "a\0b"}, "$.text"),
        ({"scope": "everybody"}, "$.scope"),
        ({"kind": "rumour"}, "$.kind"),
        ({"scope": "agent", "owner": ""}, "$.owner"),
        ({"owner": "somebody"}, "$.owner"),
        ({"metadata": {"n": float("nan")}}, "$.metadata.n"),
        ({"metadata": {"n": "x" * 20_000}}, "$.metadata"),
        ({"seconds": 0}, "$.seconds"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path(
    db: None, values: dict[str, Any], path: str
) -> None:
    workspace = make_workspace()
    with pytest.raises(InvalidValue) as refused:
        keep(workspace, **{"text": "It."} | values)
    assert refused.value.path == path
    assert one("SELECT count(*) FROM gp_memory WHERE workspace_id = %s", (workspace,)) == 0


# ---- reach ---------------------------------------------------------------------------------------


def test_a_thread_reads_its_own_its_agents_a_persons_and_everybodys(db: None) -> None:
    workspace, other = make_workspace(), make_workspace()
    mine, others = make_thread(workspace=workspace), make_thread(workspace=workspace)
    for text, scope, owner in (
        ("harbour: mine", "thread", str(mine)),
        ("harbour: of another thread", "thread", str(others)),
        ("harbour: of the agent", "agent", "counting"),
        ("harbour: of another agent", "agent", "payments"),
        ("harbour: of Ada", "person", "user:7"),
        ("harbour: of Bob", "person", "user:8"),
        ("harbour: of all", "workspace", ""),
    ):
        keep(workspace, text, scope=scope, owner=owner)
    keep(other, "harbour: elsewhere")
    seen = {"harbour: mine", "harbour: of the agent", "harbour: of Ada", "harbour: of all"}
    assert set(recalled(workspace, "harbour", thread=mine, person="user:7")) == seen
    assert set(recalled(workspace, "", thread=mine, person="user:7")) == seen, "the newest"
    assert recalled(workspace, "harbour", thread=mine, scopes=("agent",)) == [
        "harbour: of the agent"
    ]
    assert recalled(workspace, "harbour", thread=mine, kinds=("document",)) == []


def test_the_best_comes_first_and_common_words_say_nothing(db: None) -> None:
    workspace = make_workspace()
    keep(workspace, "The supplier Weber delivers pumps on Mondays.")
    keep(workspace, "Weber is paid within thirty days.")
    keep(workspace, "The canteen is closed on Mondays.")
    best = recalled(workspace, "When does Weber deliver the pumps?")
    assert best[0] == "The supplier Weber delivers pumps on Mondays."
    assert best[1:] == ["Weber is paid within thirty days."]
    assert recalled(workspace, "it's & | ! ( ':*") is not None, "no text of a question is syntax"


def test_what_has_expired_is_read_no_more_and_then_forgotten(db: None) -> None:
    workspace = make_workspace()
    row = keep(workspace, "The code is 1234.", seconds=3600)
    assert recalled(workspace, "code") == ["The code is 1234."]
    store_expired(row.id)
    assert recalled(workspace, "code") == []
    assert queries.memories(MemorySelection(state="kept"), workspace=workspace) == []
    assert store.forget_expired_memories(actor="worker:1") == 1
    assert queries.memory(row.id, workspace=workspace).gone_reason == "It expired."


def store_expired(ident: UUID) -> None:
    """Let the time of a memory be over, as if it had passed."""
    rows("UPDATE gp_memory SET expires_at = now() - interval '1 s' WHERE id = %s", (ident,))


def test_a_list_has_filters_and_pages_and_hides_what_is_somebody_elses(db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    keep(workspace, "one", kind="document", outside=True)
    keep(workspace, "two", scope="thread", owner=str(thread))
    keep(workspace, "three", scope="person", owner="user:7")
    keep(workspace, "four", scope="agent", owner="counting", source="import")

    def texts(viewer: Viewer | None = None, **selection: Any) -> list[str]:
        chosen = MemorySelection(**selection)
        listed = queries.memories(chosen, workspace=workspace, viewer=viewer)
        return [row.text for row in listed]

    assert texts() == ["four", "three", "two", "one"]
    assert texts(Viewer("user:7")) == ["four", "three", "two", "one"]
    assert texts(Viewer("user:8")) == ["four", "two", "one"]
    assert texts(outside=True) == texts(kind="document") == ["one"]
    assert texts(thread=thread) == ["two"]
    assert texts(agent="counting") == texts(source="import") == ["four"]
    assert texts(person="user:7") == ["three"]
    page = queries.memories(MemorySelection(), workspace=workspace, limit=2)
    after = queries.memories(MemorySelection(), workspace=workspace, after=page[-1].id)
    assert [row.text for row in after] == ["two", "one"]
    three = queries.memories(MemorySelection(person="user:7"), workspace=workspace)[0]
    with pytest.raises(NotFound):
        queries.memory(three.id, workspace=workspace, viewer=Viewer("user:8"))
    searched = queries.search_memories(
        "three four", MemorySelection(), workspace=workspace, viewer=Viewer("user:8")
    )
    assert [row.text for row in searched] == ["four"]


def test_a_hold_on_the_thread_keeps_what_came_from_it(db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    row = keep(workspace, "Evidence.", source="agent", where=Where(thread, 0, 1, "work"))
    store.set_hold(thread, workspace=workspace, reason="A case.", actor=OPERATOR)
    with pytest.raises(NotAllowedNow, match="legal hold"):
        store.forget_memories([row.id], workspace=workspace, reason="No.", actor=OPERATOR)
    store_expired(row.id)
    assert store.forget_expired_memories(actor="worker:1") == 0
    store.lift_hold(thread, workspace=workspace, reason="Closed.", actor=OPERATOR)
    assert store.forget_expired_memories(actor="worker:1") == 1


# ---- items of a store ----------------------------------------------------------------------------


def put(workspace: UUID, text: str, namespace: str = "m", key: str = "k", **more: Any) -> MemoryRow:
    return keep(workspace, text, metadata={"$item": {"namespace": namespace, "key": key}}, **more)


def below(workspace: UUID, namespace: str = "", **more: Any) -> list[str]:
    rows_read = queries.memory_items(
        namespace, {"workspace": ""}, workspace=workspace, limit=10, **more
    )
    return [row.text for row in rows_read]


def test_an_item_takes_the_place_of_the_former_one(db: None) -> None:
    workspace = make_workspace()
    first, other = put(workspace, "one"), put(workspace, "other", key="l")
    again = put(workspace, "two")
    assert (again.id, again.revision, again.created_at) == (first.id, 2, first.created_at)
    assert put(workspace, "two").revision == 2, "the same again changes nothing"
    assert below(workspace) == ["two", "other"], "the last one written first"
    store.forget_memories([first.id], workspace=workspace, reason="Over.", actor=OPERATOR)
    assert put(workspace, "three").id not in (first.id, other.id)
    assert verify_workspace(workspace).intact


def test_a_namespace_is_no_prefix_of_a_word(db: None) -> None:
    workspace = make_workspace()
    for namespace in ("docs", "docs.v1", "docs.v1.x", "docs.v10", "doc"):
        put(workspace, namespace, namespace=namespace)
    keep(workspace, "docs: no item at all")
    assert sorted(below(workspace, "docs.v1")) == ["docs.v1", "docs.v1.x"]
    assert sorted(below(workspace, "docs")) == ["docs", "docs.v1", "docs.v1.x", "docs.v10"]
    assert below(workspace, "docs", words="the") == []


def test_items_of_others_stay(db: None) -> None:
    workspace = make_workspace()
    put(workspace, "one")
    new = NewMemory(
        "workspace", "", "fact", "two", metadata={"$item": {"namespace": "m", "key": "k"}}
    )
    with pytest.raises(NotAllowedNow, match="only they replace it"):
        store.remember(workspace, new, actor="agent:thief")
    assert below(workspace) == ["one"]
    row = store.remember(workspace, new, actor="user:99", replaces_others=True)
    assert (row.revision, row.revised_by) == (2, "user:99")
    # Who writes through a token is the same person.
    assert put(workspace, "three").revision == 3


def test_an_item_is_put_under_a_lease_only(db: None) -> None:
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    address = {"$item": {"namespace": "m", "key": "k"}}
    where = Where(thread, 0, 1, "learn")
    work = leases.acquire(thread, owner="worker:1")
    assert work is not None
    keep(workspace, "one", metadata=address, where=where, lease=work.token)
    with pytest.raises(LeaseLost):
        keep(workspace, "two", metadata=address, where=where, lease=uuid4())
    assert below(workspace) == ["one"]


@pytest.mark.parametrize(
    "address",
    [
        "m",
        {"namespace": "m"},
        {"namespace": "m", "key": ""},
        {"namespace": "m..n", "key": "k"},
        {"namespace": 1, "key": "k"},
        {"namespace": "m", "key": "k", "more": "x"},
        {"namespace": "m", "key": "ü" * 600},
    ],
)
def test_what_names_no_place_is_refused(db: None, address: Any) -> None:
    workspace = make_workspace()
    with pytest.raises(InvalidValue, match=r"\$\.metadata\.\$item"):
        keep(workspace, "one", metadata={"$item": address})


@pytest.mark.slow
def test_puts_at_one_place_at_the_same_time_are_one_item(real_db: str) -> None:
    workspace, errors = make_workspace(), list[Exception]()

    def put_one(n: int) -> None:
        try:
            put(workspace, f"by {n}")
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    writers = [threading.Thread(target=put_one, args=(n,)) for n in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (errors, len(below(workspace))) == ([], 1)
    assert one("SELECT revision FROM gp_memory WHERE workspace_id = %s", (workspace,)) == 6
    assert verify_workspace(workspace).intact
