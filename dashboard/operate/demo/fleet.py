"""Start the demo's threads and take the steps that their scenes have, as threads come to them.

Any number of times: threads are known by their names, and each step sees whether it was taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from django.urls import reverse

from checkpoints import queries
from checkpoints.states import FINISHED
from dashboard.errors import Conflict, Stale
from dashboard.threads.start import start_thread

from .cast import Cast
from .rules import make_rules
from .scenes import SCENES, WINDY, Scene
from .steps import Step

PAUSE_SECONDS = 0.5


@dataclass
class Fleet:
    """The demo's fleet: what is started, and the steps that are still to be taken."""

    cast: Cast
    scenes: Sequence[Scene] = SCENES
    started: list[str] = field(default_factory=list)
    waiting: list[tuple[Scene, Step]] = field(default_factory=list)

    def start(self) -> None:
        """Make the rules, and start the threads that are not there.

        Raises ActionError, such as for an agent that no worker has announced.
        """
        make_rules(self.cast)
        for scene in self.scenes:
            if name := self._missing(scene):
                self._start(scene, name)
                self.started.append(name)
        self.waiting = [(scene, step) for scene in self.scenes for step in scene.steps]

    def _missing(self, scene: Scene) -> str:
        """The name of the thread that a scene has to start; empty where it is there."""
        for number in count(1):
            name = scene.name if number == 1 else f"{scene.name}-{number}"
            thread = self.cast.thread(name, scene.agent)
            if thread is None:
                return name
            if not scene.again or thread.status not in FINISHED:
                break
        return ""

    def _start(self, scene: Scene, name: str) -> None:
        start_thread(
            self.cast.operator,
            agent=scene.agent,
            input=scene.input,
            title=scene.title,
            name=name,
            labels={"team": scene.team},
            pause_at=scene.pause_at,
        )

    def take_steps(self) -> bool:
        """Take the steps that are due; True when none is left."""
        held: set[str] = set()
        left = []
        for scene, step in self.waiting:
            if scene.name in held or not self._take(scene, step):
                held.add(scene.name)  # its next step comes after this one
                left.append((scene, step))
        self.waiting = left
        return not left

    def _take(self, scene: Scene, step: Step) -> bool:
        thread = self.cast.thread(scene.name, scene.agent)
        try:
            return thread is not None and step.take(thread, self.cast)
        except (Conflict, Stale):
            return False  # The thread moved meanwhile: it is looked at again.

    def fill(self, *, seconds: float, report: Callable[[str], None]) -> bool:
        """Take all steps as they come, for so long at most; whether none is left."""
        deadline = time.monotonic() + seconds
        while not self.take_steps():
            if time.monotonic() > deadline:
                names = ", ".join(dict.fromkeys(scene.name for scene, _ in self.waiting))
                report(f"These threads did not reach their next step in time: {names}.")
                return False
            time.sleep(PAUSE_SECONDS)
        return True

    def comparison(self) -> str:
        """The page that compares the report about the cold with its fork; empty without one."""
        base = self.cast.thread("demo-weather", "market-research")
        forks = queries.forks_of(base.id) if base else []
        fork = next((row for row in forks if row.title == WINDY), None)
        if base is None or fork is None:
            return ""
        return f"{reverse('compare')}?left={base.id}&right={fork.id}"
