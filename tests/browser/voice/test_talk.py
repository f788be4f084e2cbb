"""Talking with an agent in a browser: by text, through a cut, by microphone; who may not."""

from __future__ import annotations

import math
import struct
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.files.storage import default_storage
from playwright.sync_api import Browser, BrowserType, expect
from pytest_django import DjangoDbBlocker

from checkpoints import queries
from checkpoints.queries.conversations.utterances import recorded_utterances
from dashboard.operate.embedded.valkey import HotStore
from tests.browser.house import House, site
from tests.browser.pages.test_accessible import THEMES, wrong
from tests.browser.screens import PHONE, WIDE, Screen
from tests.conftest import real_database
from tests.faults.bench import Field, wait_until
from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.voice.speech import Speech, answer_of, speech_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.requirement("A33")]
AGENTS = "tests.unit.workers.graphs.voiced,gatepost_agents.docs_chat"
WEBM = b"\x1a\x45\xdf\xa3"


def tone(path: Path) -> Path:
    """A file with two seconds of a tone, as a microphone would hear it."""
    rate = 48_000
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        values = (int(9_000 * math.sin(i * 2 * math.pi * 440 / rate)) for i in range(2 * rate))
        file.writeframes(b"".join(struct.pack("<h", value) for value in values))
    return path


@pytest.fixture(scope="module")
def speech() -> Iterator[Speech]:
    with speech_server() as server:
        yield server


@pytest.fixture(scope="module")
def talking(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Browser]:
    """A browser with a microphone that plays a file, and a person who lets pages use it."""
    sound = tone(tmp_path_factory.mktemp("sound") / "tone.wav")
    flags = [
        *browser_type_launch_args["args"],
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={sound}",
    ]
    launched = browser_type.launch(**browser_type_launch_args | {"args": flags})
    yield launched
    launched.close()


@pytest.fixture(scope="module")
def house(
    talking: Browser,
    hot_server: HotStore,
    speech: Speech,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("voice")
    more = {"GATEPOST_AGENTS": AGENTS, "GATEPOST_SPEECH": speech.setting}
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_voice"),
        site(**more) as started,
    ):
        cast = make_cast()
        made = House(cast, started, folder, folder, Field(folder, cast.workspace))
        try:
            yield made
        finally:
            made.kill_web()


@pytest.fixture
def window(talking: Browser, house: House) -> Iterator[Callable[..., Screen]]:
    screens: list[Screen] = []

    def enter(name: str, *, phone: bool = False) -> Screen:
        width, height = PHONE if phone else WIDE
        context = talking.new_context(viewport={"width": width, "height": height})
        cookie: Any = {**house.login(name), "url": house.url}
        context.add_cookies([cookie])
        screens.append(Screen(context, house.url))
        return screens[-1]

    yield enter
    complaints = [text for screen in screens for text in screen.unforeseen()]
    for screen in screens:
        screen.context.close()
    assert complaints == []


def talk_with(house: House, screen: Screen) -> Any:
    """The page on which one talks with a new thread of `voiced`, from the thread's page."""
    case = house.start("voiced")
    screen.open(f"/threads/{case.id}/")
    screen.see_status("waiting")
    screen.press("Talk")
    expect(screen.one("[data-line]")).to_have_text("Connected")
    return case


def say(screen: Screen, text: str) -> None:
    screen.one("#words").fill(text)
    screen.press("Say")


def test_words_reach_the_agent_also_those_of_a_cut(
    house: House, window: Callable[..., Screen]
) -> None:
    screen = window("operator")
    case = talk_with(house, screen)
    expect(screen.one("[data-hint]")).to_contain_text("Nothing has been said yet")
    say(screen, "Hello")
    talk = screen.one("#thread-conversation li")
    expect(talk).to_have_count(2)
    expect(talk.nth(1)).to_contain_text("You said Hello")
    expect(screen.one("[data-hint]")).to_be_hidden()
    # While nobody answers, words wait in the page; they arrive once, in order.
    screen.allow("WebSocket|ERR_CONNECTION_REFUSED|Failed to load")
    house.kill_web()
    expect(screen.one("[data-line]")).to_contain_text("Not connected")
    say(screen, "Are you there?")
    say(screen, "It was dark")
    expect(screen.one("[data-queue]")).to_contain_text("Are you there?")
    house.start_web()
    expect(screen.one("[data-line]")).to_have_text("Connected")
    expect(screen.one("[data-queue]")).to_have_text("")
    expect(talk).to_have_count(6)
    expect(talk.nth(5)).to_contain_text("You said It was dark")
    rows_ = recorded_utterances(case.id, first=1, limit=10)
    assert [row.value["text"] for row in rows_] == ["Hello", "Are you there?", "It was dark"]
    # What is said in another window comes before; this one's number moves on.
    other = window("operator")
    other.open(screen.page.url.removeprefix(house.url))
    expect(other.one("[data-line]")).to_have_text("Connected")
    say(other, "From elsewhere")
    expect(talk).to_have_count(8)
    say(screen, "bye")
    expect(talk).to_have_count(10)
    assert [row.number for row in recorded_utterances(case.id, first=1, limit=10)] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_a_recording_is_heard_and_kept(
    house: House, window: Callable[..., Screen], speech: Speech
) -> None:
    speech.answer, speech.status = answer_of("What will the weather be?"), 200
    screen = window("operator")
    case = talk_with(house, screen)
    record = screen.page.get_by_role("button", name="Record")
    record.click()
    expect(record).to_have_attribute("aria-pressed", "true")
    screen.page.wait_for_timeout(600)
    record.click()
    talk = screen.one("#thread-conversation li")
    expect(talk).to_have_count(2)
    expect(talk.nth(1)).to_contain_text("You said What will the weather be?")
    expect(record).to_have_attribute("aria-pressed", "false")
    assert speech.files[-1].startswith(WEBM)
    [row] = recorded_utterances(case.id, first=1, limit=10)
    assert row.audio is not None
    [(path,)] = rows("SELECT path FROM gp_artifact WHERE sha256 = %s", [row.audio["$artifact"]])
    with default_storage.open(path) as file:
        assert file.read() == speech.files[-1]
    assert row.audio["size"] == len(speech.files[-1]) > 1_000
    # A server that does not answer: the page says so, and the words can be typed.
    speech.status = 503
    record.click()
    screen.page.wait_for_timeout(400)
    record.click()
    expect(screen.one("[data-line]")).to_contain_text("Type the words")
    say(screen, "I type it")
    expect(talk).to_have_count(4)
    rows_ = recorded_utterances(case.id, first=2, limit=10)
    assert [(row.value["text"], bool(row.audio)) for row in rows_] == [("I type it", True)]


def test_a_chat_that_keeps_nothing_is_begun_by_its_name(
    house: House, window: Callable[..., Screen]
) -> None:
    screen = window("operator")
    screen.open("/voice/?agent=docs-chat")
    screen.page.get_by_label("Name of the conversation").fill("first talk")
    screen.press("Talk")
    expect(screen.one("[data-line]")).to_have_text("Connected")
    say(screen, "How does psycopg open a pool of connections?")
    talk = screen.one("#thread-conversation li")
    expect(talk).to_have_count(2)
    expect(talk.nth(1)).to_contain_text("psycopg")
    say(screen, "How does celery retry a task?")
    expect(talk).to_have_count(4)
    # The same name continues it.
    screen.open("/voice/?agent=docs-chat")
    screen.page.get_by_label("Name of the conversation").fill("first talk")
    screen.press("Talk")
    expect(talk).to_have_count(4)
    count = wait_until(
        lambda: queries.thread_named(
            "first talk", agent="docs-chat", workspace=house.cast.workspace
        )
    )
    assert count is not None


def test_who_may_not_reads_why(
    house: House, browser: Browser, window: Callable[..., Screen]
) -> None:
    viewer = window("viewer")
    viewer.allow("403")
    viewer.open("/voice/")
    expect(viewer.one("main")).to_contain_text("Needs the role operator.")
    # A browser whose person lets no page use the microphone.
    case = house.start("voiced")
    context = browser.new_context()
    cookie: Any = {**house.login("operator"), "url": house.url}
    context.add_cookies([cookie])
    screen = Screen(context, house.url)
    screen.open(f"/voice/voiced/{case.id}/")
    expect(screen.one("[data-line]")).to_have_text("Connected")
    screen.page.get_by_role("button", name="Record").click()
    expect(screen.one("[data-line]")).to_contain_text("No microphone")
    say(screen, "By text then")
    expect(screen.one("#thread-conversation li")).to_have_count(2)
    context.close()


def test_only_this_page_may_use_the_microphone(house: House) -> None:
    client = house.cast.client("operator")
    case = house.start("voiced")
    headers = {
        path: client.get(path).headers["Permissions-Policy"]
        for path in ("/", "/voice/", f"/voice/voiced/{case.id}/", "/api/v1/threads/")
    }
    allowed = [path for path, value in headers.items() if "microphone=(self)" in value]
    assert allowed == [f"/voice/voiced/{case.id}/"]
    assert all("microphone=()" in headers[path] for path in set(headers) - set(allowed))


@pytest.mark.parametrize("phone", [False, True])
def test_the_pages_are_accessible(house: House, window: Callable[..., Screen], phone: bool) -> None:
    screen, axe = window("operator", phone=phone), Axe()
    talk_with(house, screen)
    say(screen, "Hello")
    expect(screen.one("#thread-conversation li")).to_have_count(2)
    for path in (screen.page.url.removeprefix(house.url), "/voice/?agent=docs-chat"):
        screen.open(path)
        for theme, options in THEMES.items():
            screen.page.emulate_media(color_scheme=theme)
            assert wrong(screen, axe, options) == [], (path, theme)
        assert screen.sideways() == 0
        assert screen.cut_off() == []
