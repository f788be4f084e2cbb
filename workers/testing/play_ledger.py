"""The ledger of a play: that of the database, with a policy, a cap and files of the play."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

from approvals import queries as approval_queries
from approvals.gates.validity import outlived
from approvals.policies.matches import Facts, PolicyAnswer
from approvals.policies.queries import money
from approvals.policies.reservations import Estimate, Refusal, unpriced, waiting
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms, terms_of
from approvals.states import ALLOWING
from checkpoints import queries, store
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import AgentRow

from ..step.ledger import DatabaseLedger
from .play_store import PlayStore

# Calls that write: after each of them a worker can be lost.
WRITING: Final = frozenset(
    (
        *("commit", "leave", "record", "begin_effect", "end_effect", "keep_cursor", "compensation"),
        *("events", "adopt", "lost", "begin_undo", "spawn", "hand_off", "send", "cancel_child"),
        *("ask", "answer", "remember", "forget"),
    )
)


class PlayLedger:
    """The ledger of one worker in a play; `wrote` is called after each write."""

    def __init__(self, plays: PlayStore, wrote: Callable[[], None] = lambda: None) -> None:
        self._plays = plays
        self._wrote = wrote
        self._inner = PlayRules(plays)

    # What calls an author's function stands here: it sees the database of the author's project.

    def rule(self, work: Work, tool: str, args: Any, risk: str, *, undo: str = "") -> PolicyAnswer:
        """The decision of the play's policy on an action."""
        if self._plays.policy is None:
            return PolicyAnswer(None)
        facts = Facts(
            workspace=work.workspace,
            thread=work.thread,
            agent=work.agent,
            tool=tool,
            args=args,
            risk=risk,
            undo=undo,
            cost=self._plays.row(work.thread).cost,
            started_by=work.started_by,
        )
        return PolicyAnswer(self._plays.policy(facts))

    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None:
        """Reserve what a call may cost under the cap of a play; by the rules of a worker."""
        if self._plays.cap is None:
            return None
        estimate = most()
        return self._plays.call(self._inner.reserve, work, position, lambda: estimate)

    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]:
        """Keep a file; its chunks may come from anywhere."""
        data = b"".join(chunks)
        return self._plays.call(self._inner.artifact, work, name, media_type, [data])

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*args: Any, **more: Any) -> Any:
            result = self._plays.call(method, *args, **more)
            self._plays.has_cancelled |= name == "cancel_child"
            if name in WRITING:
                self._wrote()
            return result

        return call


class PlayRules(DatabaseLedger):
    """The calls of the ledger whose answers in a play are its own."""

    def __init__(self, plays: PlayStore) -> None:
        super().__init__()
        self._plays = plays
        self._folder: Path | None = None

    # ---- what people say ---------------------------------------------------------------------

    def node_rule(self, work: Work, node: str) -> PolicyAnswer:
        return PolicyAnswer(None)

    def asks_before_nodes(self, work: Work) -> bool:
        """The policy of a play is asked about effects only."""
        return False

    def asks_of_call(self, work: Work, tool: str, args: Any) -> bool:
        """The policy of a play is asked about effects only."""
        return False

    def may_block(self, work: Work) -> bool:
        """The policy of a play is asked once about each effect."""
        return False

    def terms(self, risk: str) -> Terms | None:
        return None  # in a play a decision counts immediately

    def doubts(self, work: Work, approval: ApprovalRow) -> str:
        """Nobody loses a right in a play; time passes there too."""
        since, valid_for = approval.effective_at, terms_of(approval.terms).valid_for
        late = since is not None and self.clock() - since.timestamp() > valid_for
        return outlived(approval, valid_for) if late else ""

    def begin_effect(
        self,
        work: Work,
        activity: NewActivity,
        events: Sequence[NewEvent],
        allowed: ApprovalRow | None = None,
        policies: str | None = None,
    ) -> str:
        """Write that it starts; the policies of a play never change."""
        if allowed is not None:
            now = approval_queries.approval(allowed.id, workspace=work.workspace)
            is_allowed = now.status == "settled" and now.outcome in ALLOWING
            if why := self.doubts(work, allowed) if is_allowed else "Nobody has approved it.":
                return why
        return super().begin_effect(work, activity, events)

    def spend_refusal(self, work: Work) -> str:
        """The fork's own budget, and the one cap of a play: what a thread may cost."""
        if why := self.over_budget(work):
            return why
        cap, spent = self._plays.cap, self._spent(work)
        if cap is None or spent < Decimal(cap):
            return ""
        return f"This thread has spent {spent}, and {cap} is its cap."

    def _tree(self, work: Work) -> dict[UUID, Decimal]:
        costs = queries.tree_costs(work.root or work.thread)
        return {thread: Decimal(cost) for thread, cost in costs.items()}

    def _spent(self, work: Work) -> Decimal:
        if self._plays.cap is None:
            return Decimal(0)
        return sum(self._tree(work).values(), Decimal(0)).normalize()

    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None:
        """Reserve what a call may cost under the cap of a play; by the rules of a worker."""
        if self._plays.cap is None:
            return None
        cap, estimate = Decimal(self._plays.cap), most()
        if estimate.unpriced:
            return Refusal(unpriced(estimate, f"a spend cap of {money(cap)}"))
        tree, spent, amount = self._tree(work), self._spent(work), estimate.amount
        others = [
            cost
            for (thread, at), cost in self._plays.reserved.items()
            if thread in tree and (thread, at) != (work.thread, position)
        ]
        if spent + amount > cap:
            return Refusal(
                f"This thread has spent {spent}, and the next call may cost {money(amount)}; "
                f"{cap} is its cap."
            )
        if spent + amount + sum(others, Decimal(0)) > cap:
            return Refusal(waiting(f"the spend cap of {money(cap)}"), for_others=True)
        self._plays.reserved[work.thread, position] = amount
        return None

    def release(self, work: Work, position: Position) -> None:
        """Drop the reservation of a call that has ended."""
        self._plays.reserved.pop((work.thread, position), None)

    # ---- what a worker shares with others ----------------------------------------------------

    def channel_cipher(self, work: Work) -> None:
        """Encrypted channels stay plain: nothing of a play outlives it."""

    def agent(self, work: Work, name: str) -> AgentRow:
        return self._plays.agent(name)

    def code(self, version: UUID) -> dict[str, Any] | None:
        """Nothing: what is installed in a play has no record."""
        return None

    def accepted_from(self, work: Work) -> set[UUID]:
        return super().accepted_from(work) | self._plays.accepted.get(work.thread, frozenset())

    def states_at(self, points: Any) -> list[dict[str, Any]]:
        joined = self._plays.joined
        if all((thread, point) in joined for thread, point, _ in points):
            return [joined[thread, point] for thread, point, _ in points]
        return super().states_at(points)

    def cached(self, key: str) -> Any:
        until, value = self._plays.cached.get(key, (0.0, None))
        return value if until > self.clock() else None

    def cache(self, key: str, value: Any, seconds: float) -> None:
        self._plays.cached[key] = (self.clock() + seconds, value)

    def hold_off(self, work: Work, name: str, *, seconds: float, text: str) -> None:
        store.hold_off(work.workspace, name, seconds=seconds, text=text)

    def held_off(self, work: Work, name: str) -> tuple[float, str] | None:
        return queries.held_off(work.workspace, name)

    def note_damage(self, work: Work, checkpoint: UUID, what: str) -> None:
        """Nobody reads the record of a harness."""

    def stop_at_step_limit(self, work: Work, reason: str) -> None:
        """Fail the thread: nobody looks after a play, and a test of it has to end red."""
        self.leave(work, EventKind.THREAD_FAILED, reason=reason)

    def progress(
        self, work: Work, activity: NewActivity | None, progress: dict[str, Any], *, keep: bool
    ) -> None:
        self._plays.progress.append(progress)

    # ---- files -------------------------------------------------------------------------------

    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]:
        data = b"".join(chunks)
        sha = hashlib.sha256(data).hexdigest()
        self._plays.files.setdefault(sha, (name[:255], media_type, data))
        return {
            "$artifact": sha,
            "name": name[:255],
            "media_type": media_type,
            "size": len(data),
        }

    def open_artifact(self, work: Work, sha256: str) -> IO[bytes]:
        return io.BytesIO(self._plays.file(sha256))

    def artifact_path(self, work: Work, sha256: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gatepost-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / sha256
        path.write_bytes(self._plays.file(sha256))
        return path
