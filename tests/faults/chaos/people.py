"""The people of the chaos: they start threads, decide, pause, resume and retry, all over HTTP.

What they were answered with 2xx is written to a file at once, a line of JSON each: the verdict
looks for it in the log afterwards. Whoever gets no answer asks again.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx

from . import tasks
from .ground import PASSWORD, PEOPLE, Ground, Look
from .outcomes import payables, reports

logging.getLogger("httpx").setLevel(logging.WARNING)
AT_ONCE = 18  # threads at work: more than there are slots
WAITING = 40  # threads that wait for people, or for a decision that can still be taken back
HANDS = 6  # requests at the same time
PATIENCE = 120.0  # seconds that somebody asks again
ENDED = ("succeeded", "cancelled")


class Person:
    """Somebody who is signed in by the form, and stays so when the web process is another one.

    Asks at all web hosts by turns.
    """

    def __init__(self, addresses: Sequence[str], name: str) -> None:
        self._addresses = cycle(addresses)
        self.http = httpx.Client(timeout=30)
        login = f"{addresses[0]}/login/"
        page = self.http.get(login)
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
        form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
        answer = self.http.post(login, data=form)
        if answer.status_code != 302:
            raise RuntimeError(f"{name} cannot sign in: {answer.status_code}")
        self.http.headers["X-CSRFToken"] = self.http.cookies["csrftoken"]

    def ask(self, method: str, path: str, **what: Any) -> httpx.Response:
        return self.http.request(method, f"{next(self._addresses)}/api/v1{path}", **what)


class People:
    """Keeps work going on until told that it is enough; `tend` is called from a loop of its own."""

    def __init__(self, ground: Ground, acknowledged: Path, threads: int) -> None:
        self._ground = ground
        self._look = Look(ground.address)
        addresses = [web.address for web in ground.webs]
        self._operator, self._manager = (Person(addresses, name) for name in PEOPLE)
        self._file = acknowledged.open("a", buffering=1)
        self._writing = threading.Lock()
        self._pool = ThreadPoolExecutor(HANDS)
        self._busy: set[tuple[str, str]] = set()
        self._known: dict[str, int] = {}  # thread: task, of a tree or a hot one -1, -2 ...
        self._paused: set[int] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="people")
        self.goal = threads
        self.begun = 0
        self.ended = 0
        self.going = 0
        self.waiting = 0
        self.children = 0
        self.answers: Counter[str] = Counter()
        self.trouble: BaseException | None = None

    # ---- life ----

    def __enter__(self) -> People:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._pool.shutdown()
        self._look.close()
        for person in (self._operator, self._manager):
            person.http.close()
        self._file.close()

    def go_on(self) -> None:
        """There shall be something to strike: more threads than asked for, where all are begun."""
        if self.begun >= self.goal and self.at_work < HANDS:
            self.goal += HANDS

    @property
    def at_work(self) -> int:
        """Threads that are begun, have not ended and do not wait; children among them."""
        return self._expected - self.ended - self.waiting + self.children

    @property
    def _expected(self) -> int:
        """Threads that people have begun, trees and hot ones among them."""
        return tasks.with_others(self.begun)

    @property
    def done(self) -> bool:
        """Whether all that was asked for has been started and has ended."""
        return self.begun >= self.goal and self.ended >= self._expected and not self._busy

    def _live(self) -> None:
        try:
            while not self._stop.wait(0.1):
                self._turn()
        except BaseException as error:  # seen by the main loop, which ends with it
            self.trouble = error
            raise

    def _turn(self) -> None:
        rows = self._look.rows(
            "SELECT id::text, status, coalesce(root, id)::text, status = 'waiting' "
            "AND waiting_on ->> 'kind' = 'gate' FROM gp_thread"
        )
        if rows is None:
            return
        # A tree is one thing that people began; it has ended when all of it has.
        families = {root for _, _, root, _ in rows}
        at_it = {root for _, status, root, _ in rows if status not in ENDED}
        self.ended, self.going = len(families - at_it), len(at_it)
        self.waiting = sum(bool(waits) for *_, waits in rows)
        self.children = sum(
            thread != root and status not in (*ENDED, "waiting") for thread, status, root, _ in rows
        )
        starting = sum(what == "start" for what, _ in tuple(self._busy))
        while (
            self.begun < self.goal
            and self.at_work < AT_ONCE
            and self.waiting < WAITING
            and starting < HANDS
        ):
            self.begun += 1
            starting += 1
            self._do("start", str(self.begun), self._start, self.begun)
            if self.begun % tasks.TREE_EVERY == 0:
                number = self.begun // tasks.TREE_EVERY
                self._do("start", f"tree {number}", self._start_other, tasks.tree(number))
            if self.begun % tasks.HOT_EVERY == 0:
                number = self.begun // tasks.HOT_EVERY
                self._do("start", f"hot {number}", self._start_other, tasks.hot(number))
        for thread, status, *_ in rows:
            task = self._known.get(thread)
            if status in ("failed", "attention"):
                self._do("retry", thread, self._order, thread, "retry")
            elif status == "paused":
                self._do("resume", thread, self._order, thread, "resume")
            elif status == "running" and task is not None and self._shall_pause(task):
                self._do("pause", thread, self._order, thread, "pause", {"children": task < 0})
        if self.waiting:
            self._do("read", "approvals", self._decide_all)

    def _shall_pause(self, task: int) -> bool:
        wanted = tasks.paused(task) if task > 0 else tasks.paused_other(-task)
        if not wanted or task in self._paused:
            return False
        self._paused.add(task)
        return True

    def _do(self, what: str, which: str, do: Callable[..., None], *value: Any) -> None:
        """Let one of the hands do it, unless it is being done."""
        if (what, which) in self._busy:
            return
        self._busy.add((what, which))

        def work() -> None:
            try:
                do(*value)
            except BaseException as error:
                self.trouble = error
                raise
            finally:
                self._busy.discard((what, which))

        self._pool.submit(work)

    # ---- what they do ----

    def _start(self, task: int) -> None:
        made = payables if tasks.agent(task) == tasks.PAYMENTS else reports
        body = {
            "agent": tasks.agent(task),
            "title": f"Task {task}",
            "input": made.VALUES
            | {name: self._upload(task, *file) for name, file in made.files(task).items()},
        }
        answer = self._ask(
            self._operator, "POST", "/threads/", body, {"Idempotency-Key": f"task-{task}"}
        )
        if answer is None or not answer.is_success:
            raise RuntimeError(f"task {task} was not started: {answer and answer.text}")
        thread = str(answer.json()["id"])
        self._known[thread] = task
        self._note(command="start", thread=thread, task=task)

    def _start_other(self, body: dict[str, Any]) -> None:
        """A tree or a hot thread."""
        number = body["input"]["task"]
        key = {"Idempotency-Key": f"other-{number}"}
        answer = self._ask(self._operator, "POST", "/threads/", body, key)
        if answer is None or not answer.is_success:
            raise RuntimeError(f"{body} was not started: {answer and answer.text}")
        thread = str(answer.json()["id"])
        self._known[thread] = -number
        self._note(command="start", thread=thread, task=-number)

    def _upload(self, task: int, name: str, raw: bytes) -> dict[str, Any]:
        """As the start form does; the answer is what the input takes."""
        file = {"file": (name, raw, "text/csv")}
        answer = self._ask(self._operator, "POST", "/artifacts/", files=file)
        if answer is None or not answer.is_success:
            raise RuntimeError(f"{name} was not taken: {answer and answer.text}")
        payload: dict[str, Any] = answer.json()
        self._note(command="upload", sha256=payload["$artifact"], task=task)
        return payload

    def _order(self, thread: str, order: str, body: dict[str, Any] | None = None) -> None:
        answer = self._ask(self._operator, "POST", f"/threads/{thread}/{order}/", body or {})
        if answer is not None and answer.is_success:
            self._note(command=order, thread=thread, answer=answer.json().get("status"))

    def _decide_all(self) -> None:
        answer = self._ask(self._manager, "GET", "/approvals/?status=pending&limit=100")
        for row in answer.json()["results"] if answer is not None and answer.is_success else ():
            self._do("decide", row["id"], self._decide, row)

    def _decide(self, row: dict[str, Any]) -> None:
        task = self._known.get(row["thread"])
        if task is None:  # its start has not been answered yet
            return
        body = {
            "verdict": tasks.verdict(task),
            "proposal_hash": row["proposal_hash"],
            "comment": tasks.comment(task),
        }
        answer = self._ask(self._manager, "POST", f"/approvals/{row['id']}/decide/", body)
        if answer is not None and answer.is_success:
            self._note(
                command="decide", thread=row["thread"], approval=row["id"], verdict=body["verdict"]
            )

    def _ask(
        self,
        who: Person,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        files: dict[str, Any] | None = None,
    ) -> httpx.Response | None:
        """The answer; asks again while there is none or a 503. None when patience is over.

        An order that is asked again after a lost answer may get a 409: what it asked for is done.
        """
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not self._stop.is_set():
            try:
                answer = who.ask(method, path, json=body, headers=headers, files=files)
            except httpx.TransportError:
                self.answers["none"] += 1
            else:
                self.answers[str(answer.status_code)] += 1
                if answer.status_code in (400, 401, 403, 404, 422):
                    raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
                if answer.status_code < 500:
                    return answer
                if answer.status_code != 503:
                    self._note(command="answer", status=answer.status_code, path=path,
                               text=answer.text[:500])  # fmt: skip
            time.sleep(0.2)
        return None

    def _note(self, **line: Any) -> None:
        with self._writing:
            self._file.write(json.dumps(line) + "\n")
