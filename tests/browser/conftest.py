"""One product and one browser for all acceptance tests; each person has windows of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from pytest_django import DjangoDbBlocker

from dashboard.operate.embedded.valkey import HotStore
from tests.conftest import real_database
from tests.faults.bench import Case, Field
from tests.support.cast import make_cast

from .house import House, site
from .screens import PHONE, WIDE, Screen
from .tables import shop_table

type People = Callable[..., Screen]


@pytest.fixture(scope="package")
def house(
    browser: Browser,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    hot_server: HotStore,
) -> Iterator[House]:
    """Real data, web server and worker; the browser comes first, without one nothing starts."""
    folder = tmp_path_factory.mktemp("acceptance")
    published = folder / "published"
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_acceptance"),
        site(GATEPOST_PUBLISHED=str(published)) as started,
    ):
        cast = make_cast()
        made = House(cast, started, folder, published, Field(folder, cast.workspace))
        try:
            yield made
        finally:
            made.kill_web()  # it may be another one than was started


@pytest.fixture(scope="package")
def at_gate(house: House) -> Case:
    """A real report on 26,115 rows that waits for a decision; tests only look at it."""
    question = "How does the temperature differ between the airports?"
    case = house.start(title="Weather at the airports", question=question, dataset="weather")
    case.wait_status("waiting", seconds=60)
    return case


@pytest.fixture
def people(browser: Browser, house: House) -> Iterator[People]:
    """Opens windows: `people("manager", phone=True)`; "" is somebody who is not signed in.

    Afterwards no console may have complained about anything that the test did not bring about.
    """
    screens: list[Screen] = []

    def enter(name: str, *, phone: bool = False, url: str = house.url, **more: Any) -> Screen:
        width, height = PHONE if phone else WIDE
        context = browser.new_context(
            viewport={"width": width, "height": height},
            is_mobile=phone,
            has_touch=phone,
            reduced_motion="reduce",
            **more,
        )
        if name:
            cookie: Any = {**house.login(name), "url": url}
            context.add_cookies([cookie])
        screens.append(Screen(context, url))
        return screens[-1]

    yield enter
    complaints = [text for screen in screens for text in screen.unforeseen()]
    for screen in screens:
        screen.context.close()
    assert complaints == []


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 12,000 rows to upload."""
    path = tmp_path_factory.mktemp("tables") / "sales.csv"
    path.write_bytes(shop_table(12_000))
    return path


@pytest.fixture(scope="package")
def broken_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a broken column."""
    path = tmp_path_factory.mktemp("tables") / "sales-broken.csv"
    path.write_bytes(shop_table(12_000, broken=900))
    return path
