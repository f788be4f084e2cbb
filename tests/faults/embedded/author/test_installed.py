"""The wheels as an author has them: README's and the how-tos' code, its types, event loops.

No clone is on the path and no settings are named. The OpenAI Agents SDK has an environment of its
own, with the client only, since its pins and those of Pydantic AI exclude each other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.test_as_an_author import LOOP, TYPES

from .code_of_pages import BESIDE_OPENAI_AGENTS, folders, with_code
from .environments import Author

pytestmark = pytest.mark.requirement("F05")
PAGES = [page for page in with_code() if page not in BESIDE_OPENAI_AGENTS]
FOLDERS = [("product", files) for files in folders(PAGES)]
FOLDERS += [("client", files) for files in folders(sorted(BESIDE_OPENAI_AGENTS))]
# Scripts that ask a server or take an argument when they begin; tests of their pages run them.
SCRIPTS = re.compile(
    r"^(from gatepost_client import reveal|order = sys.argv"
    r"|from gatepost_client.langgraph import GatepostStore)",
    re.MULTILINE,
)


@pytest.fixture(params=FOLDERS, ids=[f"{who}{n}" for n, (who, _) in enumerate(FOLDERS)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Author, Path]:
    """(environment, folder) of an author who copied the code of many pages."""
    who, files = request.param
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return request.getfixturevalue(who), tmp_path


def test_nothing_of_the_clone_is_there(product: Author, tmp_path: Path) -> None:
    places = """
import gatepost, langgraph, os, pydantic_ai, sys
import gatepost_client.langgraph, gatepost_client.pydantic_ai
assert "DJANGO_SETTINGS_MODULE" not in os.environ
print(gatepost.__file__, *sys.path, sep="\\n")
"""
    own, *path = product("python", "-c", places, folder=tmp_path).splitlines()
    assert Path(own).is_relative_to(product.python.parents[1])
    clone = str(Path(__file__).parents[4])
    assert [p for p in path if p.startswith(clone) and "/build/author" not in p] == []


def test_the_code_of_the_pages_works(folder: tuple[Author, Path]) -> None:
    author, pages = folder
    modules = [p.stem for p in pages.glob("*.py") if not SCRIPTS.search(p.read_text())]
    author(
        "python", "-W", "error::SyntaxWarning", "-c", f"import {', '.join(modules)}", folder=pages
    )
    if any(pages.glob("test_*.py")):
        done = author("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder=pages)
        assert re.search(r"\d+ passed", done), done


def test_mypy_and_pyright_find_no_fault_in_it(folder: tuple[Author, Path]) -> None:
    author, pages = folder
    (pages / "pyrightconfig.json").write_text('{"include": ["*.py"]}')
    author("python", "-m", "mypy", "--strict", ".", folder=pages)
    words = ("-m", "pyright", "--outputjson", "--pythonpath", str(author.python))
    done = author.run("python", *words, folder=pages)
    faults = json.loads(done.stdout)["generalDiagnostics"]
    assert [
        f"{Path(f['file']).name}: {f['range']['start']['line']}: {f['message']}" for f in faults
    ] == []


def test_the_face_is_typed(product: Author, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPES)
    product("python", "-m", "mypy", "--strict", "typed.py", folder=tmp_path)


def test_a_node_may_run_an_event_loop(product: Author, tmp_path: Path) -> None:
    (tmp_path / "looping.py").write_text(LOOP)
    product("python", "looping.py", folder=tmp_path)
