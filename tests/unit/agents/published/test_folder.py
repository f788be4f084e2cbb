"""Publishing: all at once, once per key, and undone to the last file."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.published import folder as module
from gatepost_agents.published.folder import publish, slug_of, unpublish
from gatepost_agents.published.markdown import escaped
from gatepost_agents.published.page import page

FILES = {"report.md": b"# Delays\n", "chart.svg": b"<svg/>"}


def tree(folder: Path) -> list[str]:
    """Every path below the folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_files_and_the_manifest_are_there(tmp_path: Path) -> None:
    answer = publish(tmp_path / "published", "delays", FILES, key="k1")
    assert tree(tmp_path / "published") == [
        "delays", "delays/chart.svg", "delays/manifest.json", "delays/report.md",
    ]  # fmt: skip
    assert answer["slug"] == "delays"
    assert answer["files"][1] == {
        "name": "report.md",
        "size": 9,
        "sha256": hashlib.sha256(b"# Delays\n").hexdigest(),
    }


def test_the_same_key_again_changes_nothing_and_answers_the_same(tmp_path: Path) -> None:
    first = publish(tmp_path, "delays", FILES, key="k1")
    stamp = (tmp_path / "delays/report.md").stat().st_mtime_ns
    assert publish(tmp_path, "delays", {"report.md": b"other"}, key="k1") == first
    assert (tmp_path / "delays/report.md").stat().st_mtime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == ["delays"]


def test_another_key_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    slugs = [publish(tmp_path, "delays", FILES, key=f"k{i}")["slug"] for i in range(3)]
    assert slugs == ["delays", "delays-2", "delays-3"]
    unpublish(tmp_path, "delays", key="k0")
    assert publish(tmp_path, "delays", FILES, key="k2")["slug"] == "delays-3"
    assert publish(tmp_path, "delays", FILES, key="k9")["slug"] == "delays"


def test_a_stop_half_way_leaves_nothing_that_others_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_moved", stop)
        patched.setattr(module.shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            publish(tmp_path, "delays", FILES, key="k1")
    assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
    publish(tmp_path, "delays", FILES, key="k1")
    assert [path.name for path in tmp_path.iterdir()] == ["delays"]


@pytest.mark.parametrize("at", ["_write", "_moved"])
def test_one_that_was_stopped_meanwhile_does_not_publish_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    publish(tmp_path, "delays", FILES, key="another")
    stopped, went_on = getattr(module, at), []

    def meanwhile(*value: object) -> object:
        monkeypatch.setattr(module, at, stopped)
        went_on.append(publish(tmp_path, "delays", FILES, key="k1"))
        return stopped(*value)

    monkeypatch.setattr(module, at, meanwhile)
    late = publish(tmp_path, "delays", FILES, key="k1")
    assert [late] == went_on
    assert late["slug"] == "delays-2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["delays", "delays-2"]


def test_two_with_one_key_at_once_publish_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither clears the other's attempt away: what decides is the place alone.
    monkeypatch.setattr(module, "_clear_attempts", lambda *_: None)
    stopped = module._moved

    def meanwhile(*value: Any) -> Path:
        monkeypatch.setattr(module, "_moved", stopped)
        publish(tmp_path, "delays", FILES, key="k1")
        return stopped(*value)

    monkeypatch.setattr(module, "_moved", meanwhile)
    assert publish(tmp_path, "delays", FILES, key="k1")["slug"] == "delays"
    assert [path.name for path in tmp_path.iterdir()] == ["delays"]


def test_many_keys_at_once_never_share_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda i: publish(tmp_path, "delays", FILES, key=f"k{i}"), range(24))
        )
    assert len({answer["slug"] for answer in answers}) == 24
    assert len(list(tmp_path.iterdir())) == 24


@pytest.mark.parametrize("slug", ["delays", "delays-2"])
def test_undo_removes_what_this_key_published_and_no_more(tmp_path: Path, slug: str) -> None:
    publish(tmp_path, "delays", FILES, key="k1")
    publish(tmp_path, "delays", FILES, key="k2")
    done = unpublish(tmp_path, slug, key="k2")
    assert done == {"slug": "delays-2", "removed": ["chart.svg", "report.md"], "kept": []}
    assert [path.name for path in tmp_path.iterdir()] == ["delays"]
    again = unpublish(tmp_path, slug, key="k2")
    assert (again["removed"], again["kept"]) == ([], [])


def test_undo_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    publish(tmp_path, "delays", FILES, key="k1")
    (tmp_path / "delays/chart.svg").unlink()
    assert unpublish(tmp_path, "delays", key="k1")["removed"] == ["chart.svg", "report.md"]
    assert tree(tmp_path) == []


def test_undo_leaves_the_work_of_others(tmp_path: Path) -> None:
    publish(tmp_path, "delays", FILES, key="k1")
    (tmp_path / "delays/report.md").write_text("corrected by hand")
    (tmp_path / "delays/note.txt").write_text("mine")
    done = unpublish(tmp_path, "delays", key="k1")
    assert (done["removed"], done["kept"]) == (["chart.svg"], ["report.md"])
    assert tree(tmp_path) == ["delays", "delays/note.txt", "delays/report.md"]


def test_undo_of_nothing_is_nothing(tmp_path: Path) -> None:
    assert unpublish(tmp_path / "none", "delays", key="k1")["removed"] == []


@pytest.mark.parametrize("slug", ["../up", "a/b", "", ".hidden", "Ümlaut", "a" * 99])
def test_a_slug_cannot_leave_the_folder(tmp_path: Path, slug: str) -> None:
    for act in (
        lambda: publish(tmp_path, slug, FILES, key="k"),
        lambda: unpublish(tmp_path, slug, key="k"),
    ):
        with pytest.raises(ValueError, match="not a folder name"):
            act()


@pytest.mark.parametrize("name", ["../x", "manifest.json", ".x", "a/b"])
def test_a_file_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        publish(tmp_path, "delays", {name: b""}, key="k")
    assert tree(tmp_path) == []


def test_slugs_of_titles() -> None:
    assert slug_of("Arrival delay by carrier") == "arrival-delay-by-carrier"
    assert slug_of("価格") == "report"


def test_what_a_file_says_stays_text_in_the_page() -> None:
    nasty = "<img src=x onerror=alert(1)> [a](javascript:b) `c` _d_ *e* | & # 1."
    html = page("<t>", f"# x\n\n{escaped(nasty)}\n\n| a |\n| --- |\n| {escaped(nasty)} |\n")
    body = html.split("<body>")[1]
    shown = "&lt;img src=x onerror=alert(1)&gt; [a](javascript:b) `c` _d_ *e* | &amp; # 1."
    assert body.count(shown) == 2
    assert "<a " not in body
    assert "<title>&lt;t&gt;</title>" in html
