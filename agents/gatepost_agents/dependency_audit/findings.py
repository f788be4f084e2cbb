"""What is to be said of a package, from its facts: each finding with its level and its reason."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .age import describe_age
from .lock_files import normal

LEVELS = ("high", "medium", "low")
NAMED = 3
# Much installed names that others have been made to look like.
POPULAR = frozenset(
    [
        "requests",
        "urllib3",
        "numpy",
        "pandas",
        "django",
        "flask",
        "boto3",
        "botocore",
        "setuptools",
        "certifi",
        "cryptography",
        "pyyaml",
        "python-dateutil",
        "sqlalchemy",
        "pydantic",
        "fastapi",
        "pillow",
        "matplotlib",
        "scipy",
        "scikit-learn",
        "celery",
        "redis",
        "psycopg",
        "psycopg2",
        "aiohttp",
        "beautifulsoup4",
        "selenium",
        "colorama",
        "tensorflow",
        "pytorch",
        "torch",
        "openai",
        "anthropic",
        "litellm",
        "langchain",
        "transformers",
        "pytest",
        "jinja2",
        "werkzeug",
        "click",
        "rich",
        "paramiko",
        "httpx",
        "tqdm",
        "packaging",
        "virtualenv",
        "cffi",
        "pyjwt",
        "markupsafe",
        "attrs",
        "idna",
    ]
)
_ABANDONED = re.compile(
    r"\b(deprecated|unmaintained|abandoned|no longer (?:maintained|developed|supported)|"
    r"not maintained|end of life|has been renamed to|use \S+ instead)\b",
    re.IGNORECASE,
)
_PRE_RELEASE = re.compile(r"\d(?:a|b|rc|\.dev)\d", re.IGNORECASE)

Finding = dict[str, str]


def judge(
    package: Mapping[str, Any],
    facts: Mapping[str, Any],
    *,
    licence: Mapping[str, str],
    age: Mapping[str, Any],
    files: Mapping[str, Any],
    refused: Sequence[str],
    years: float,
) -> list[Finding]:
    """[{"level", "what", "why"}], the worst first; empty where nothing speaks against it.

    `refused` are kinds of licences, `years` how old a version may be.
    """
    results = list(_of_the_name(package))
    if facts["installed"]:
        results += _of_the_licence(licence, refused)
        results += _of_the_age(age, facts, years)
        results += _of_the_files(files)
        results += _of_the_metadata(facts)
    else:
        other = f"version {facts['version']} is" if facts["version"] else "it is"
        why = f"{other} installed on the worker" if facts["version"] else (
            "it isn’t installed on the worker")  # fmt: skip
        results.append(_finding("low", "Only name and version were looked at", why))
    return sorted(results, key=lambda finding: LEVELS.index(finding["level"]))


def _finding(level: str, what: str, why: str) -> Finding:
    return {"level": level, "what": what, "why": why}


def _of_the_name(package: Mapping[str, Any]) -> list[Finding]:
    results = []
    name = normal(package["name"])
    if name not in POPULAR and len(name) > 4:
        alike = difflib.get_close_matches(name, sorted(POPULAR), n=1, cutoff=0.88)
        if alike and abs(len(alike[0]) - len(name)) <= 1 and not _numbered(name, alike[0]):
            why = f"its name is almost `{alike[0]}`"
            results.append(_finding("high", "May be taken for another package", why))
    if not package["pinned"]:
        why = "another version may be installed tomorrow"
        results.append(_finding("medium", "No version is pinned", why))
    if package["source"]:
        why = f"it comes from {package['source']}"
        results.append(_finding("medium", "Does not come from the index", why))
    if _PRE_RELEASE.search(package["version"]):
        results.append(_finding("low", "Is a pre-release", f"its version is {package['version']}"))
    return results


def _numbered(name: str, other: str) -> bool:
    """Answer True if two names differ only in a number at the end, as psycopg and psycopg2 do."""
    return name.rstrip("0123456789") == other.rstrip("0123456789")


def _of_the_licence(licence: Mapping[str, str], refused: Sequence[str]) -> list[Finding]:
    if not licence["name"]:
        return [_finding("medium", "Names no licence", "its metadata has none")]
    if licence["kind"] in refused:
        what = "Has a licence that you refuse"
        return [_finding("high", what, f"{licence['name']} is {licence['kind']}")]
    if licence["kind"] == "unknown":
        return [_finding("low", "Has a licence that is not known here", licence["name"])]
    return []


def _of_the_age(age: Mapping[str, Any], facts: Mapping[str, Any], years: float) -> list[Finding]:
    if age["years"] is not None and age["years"] > years:
        return [_finding("low", "May be old", describe_age(age))]
    if facts["status"] == "7 - Inactive":
        return [_finding("medium", "Is inactive", "its own classifier says so")]
    return []


def _of_the_files(files: Mapping[str, Any]) -> list[Finding]:
    results = []
    for one in files["startup"]:
        why = f"{one['file']}: {one['line']}"
        results.append(_finding("high", "Runs code at each start of Python", why))
    if altered := files["altered"]:
        results.append(_finding("high", "Was altered after it was installed", _named(altered)))
    if missing := files["missing"]:
        results.append(
            _finding("medium", "Lacks files that it was installed with", _named(missing))
        )
    if not files["files"]:
        why = "it has no RECORD, so nothing says what belongs to it"
        results.append(_finding("low", "Its files are not known", why))
    return results


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _of_the_metadata(facts: Mapping[str, Any]) -> list[Finding]:
    results = []
    # Further down stand the changes of single functions.
    match = _ABANDONED.search(f"{facts['summary']}\n{facts['description'][:600]}")
    if match:
        what = "May not be maintained"
        results.append(_finding("medium", what, f"its description says “{match[0]}”"))
    if not facts["links"]:
        why = "its metadata has no home page and no link to its source"
        results.append(_finding("low", "Says nothing of where it comes from", why))
    if not facts["author"]:
        results.append(_finding("low", "Names nobody", "its metadata has no author or maintainer"))
    return results
