"""Text files that people bring are read by one rule, in each agent that takes any."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatepost_agents.deep_research.sources import UnreadableSource, text_of
from gatepost_agents.dependency_audit.lock_files import UnreadableLock, packages_of
from gatepost_agents.language.encodings import decoded, wide_encoding
from gatepost_agents.market_research.input.problems import UnreadableFile as UnreadableTable
from gatepost_agents.market_research.input.source import survey
from gatepost_agents.payments.problems import UnreadableFile
from gatepost_agents.payments.table import read

WIDE = ["utf-16", "utf-16-le", "utf-16-be"]
TABLE = "name,city\nMöller,Köln\nÅse,Oslo\n"


def marked(encoding: str, text: str) -> bytes:
    """A text with a mark; that of utf-16 is its own."""
    return text.encode(encoding) if encoding == "utf-16" else ("\ufeff" + text).encode(encoding)


@pytest.mark.parametrize("encoding", [*WIDE, "utf-8"])
@pytest.mark.parametrize("mark", [True, False])
def test_each_agent_reads_the_same_text(tmp_path: Path, encoding: str, mark: bool) -> None:
    def raw(text: str) -> bytes:
        return marked(encoding, text) if mark else text.encode(encoding)

    assert decoded(raw(TABLE)) == TABLE
    path = tmp_path / "table.csv"
    path.write_bytes(raw(TABLE))
    assert survey(path).header == ("name", "city")
    assert read(path, "table.csv").rows[0] == (2, ["Möller", "Köln"])
    text, _ = text_of({"package": "", "file": "table.csv"}, path)
    assert text == TABLE
    packages, unread = packages_of(raw("Django==5.2\nrequests==2.32.3\n"), "requirements.txt")
    assert [one["name"] for one in packages] == ["Django", "requests"]
    assert unread == []


@pytest.mark.parametrize("encoding", WIDE)
def test_half_of_a_character_is_refused_in_a_sentence(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(marked(encoding, TABLE) + b"x")
    with pytest.raises(UnreadableTable, match="isn’t a text file"):
        survey(path)
    with pytest.raises(UnreadableFile, match="isn't a text file"):
        read(path, "table.csv")
    with pytest.raises(UnreadableSource, match="neither UTF-8 nor UTF-16"):
        text_of({"package": "", "file": "table.csv"}, path)
    with pytest.raises(UnreadableLock, match="isn't a text file"):
        packages_of(path.read_bytes(), "requirements.txt")


@pytest.mark.parametrize("raw", [b"", b"a", b"a\0", b"\0" * 3, b"a,b\n1,2\n", bytes(range(256))])
def test_other_bytes_are_no_utf_16(raw: bytes) -> None:
    assert wide_encoding(raw) == ""
