"""Credentials: every form is found at its path, what only looks a little like one is left alone."""

from __future__ import annotations

import base64
import json
import random
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.state import credentials
from checkpoints.state.credentials import find, form_of, masked, registrable

ALNUM = string.ascii_letters + string.digits


def text(n: int, letters: str = ALNUM) -> str:
    return "".join(random.choices(letters, k=n))


def jwt() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ada"}]
    encoded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*encoded, text(43)])


# {form: one of it}; put together here, so that no scanner of repositories takes them for real.
MADE: dict[str, str] = {
    "an AWS key": "AKIA" + text(16, string.ascii_uppercase + "234567"),
    "a GitHub token": "ghp" + "_" + text(36),
    "a GitLab token": "glpat" + "-" + text(20),
    "a Slack token": "xoxb" + f"-{text(12, string.digits)}-{text(24)}",
    "a Slack webhook": "https://hooks.slack.com/services/" + f"T{text(8, 'ABC123')}/B01/{text(24)}",
    "a Stripe key": "sk" + "_live_" + text(24),
    "a model provider's key": "sk" + "-proj-" + text(40),
    "a Google key": "AIza" + text(35),
    "an npm token": "npm" + "_" + text(36),
    "a PyPI token": "pypi" + "-AgE" + text(60),
    "a private key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END",
    "a JSON Web Token": jwt(),
    "a token of Gatepost": "gp" + f"_abcd1234_{text(43)}",
    "a webhook's secret": "whsec" + "_" + text(32),
}
OTHERS = [
    ("ASIA" + text(16, "ABCDEF234567"), "an AWS key"),
    ("github" + f"_pat_{text(22)}_{text(59)}", "a GitHub token"),
    ("gho" + "_" + text(36), "a GitHub token"),
    ("rk" + "_test_" + text(24), "a Stripe key"),
    ("sk" + "-ant-api03-" + text(80), "a model provider's key"),
    ("sk" + "-" + text(20) + "7" + text(27), "a model provider's key"),
    ("-----BEGIN " + "PRIVATE KEY-----", "a private key"),
]


CASES = [*((v, k) for k, v in MADE.items()), *OTHERS]


@pytest.mark.parametrize(
    ("secret", "name"), CASES, ids=[f"{n} {name}" for n, (_, name) in enumerate(CASES)]
)
def test_each_form_is_found_wherever_it_stands(secret: str, name: str) -> None:
    assert form_of(secret) == name
    for where, path in (
        (secret, "$"),
        ({"a": f"use {secret}, please"}, "$.a"),
        ({"a": [1, {"b c": ["x", f"({secret})"]}]}, '$.a[1]["b c"][1]'),
        ({"log": json.dumps({"token": secret})}, "$.log"),
    ):
        hit = find(where)
        assert hit is not None, where
        assert (hit.path, hit.what) == (path, f"what looks like {name}")
        assert secret not in f"{hit.path}{hit.what}"
    named = find({secret: 1})
    assert named is not None
    assert secret not in named.path
    assert secret not in masked(f"before {secret} after")


def test_every_form_is_tried_here() -> None:
    assert {name for _, _, name in credentials.FORMS} == set(MADE)


def test_of_a_private_key_all_is_masked() -> None:
    body = text(64)
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    assert masked(f"a {begin}\n{body}\n{end} b") == "a *** b"
    assert masked(f"a {begin}\n{body}") == "a ***"  # cut off


@pytest.mark.parametrize(
    "harmless",
    [
        "sk-learn and sk-image are packages of scientists who like long names",
        "task-oriented-and-very-long-hyphenated-words-are-no-keys-of-anybody-0123456789",
        "disk-" + "a" * 40,
        "The key AKIA is short, ASIA is a continent, eyJ begins many things.",
        "ghp_ and npm_ are prefixes; gp_ is ours; whsec_ belongs to webhooks.",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10",
        "https://example.com/a/very/long/path?with=query&and=more#fragment-0123456789",
        "eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4" * 20,
        "xoxo-with-love-from-somebody-you-know",
    ],
    ids=lambda text: text.replace("\n", " ")[:12],
)
def test_what_is_none_is_left_alone(harmless: str) -> None:
    assert find({"text": harmless, "list": [harmless]}) is None
    assert masked(harmless) == harmless


# Without letters: Hypothesis also draws words of the code itself, such as the key PASSWORD.
KEYS = st.text(st.characters(exclude_categories=("Lu", "Ll", "Cs")))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=60) | st.uuids().map(str),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=20,
    )
)
def test_generated_values_hold_none(value: Any) -> None:
    assert find(value) is None


def test_random_bytes_as_text_hold_none() -> None:
    source = random.Random(7)
    for _ in range(500):
        raw = source.randbytes(600)
        assert find([raw.hex(), base64.b64encode(raw).decode()]) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "hunter2hunter2"),
        ("PASSWORD", "Correct-Horse"),
        ("api_key", "0123abcd4567"),
        ("apiKey", "0123abcd4567"),
        ("X-API-Key", "0123abcd4567"),
        ("client_secret", "pi_3Nabc_secret_x9"),
        ("authorization", "Bearer abc.DEF-123"),
        ("Authorization", "Basic dXNlcjpwYXNz"),
    ],
)
def test_a_credential_under_a_telling_name(key: str, value: str) -> None:
    for shown in ({key: value}, {"a": [{key: value}]}, {key: [value]}):
        hit = find(shown)
        assert hit is not None, shown
        assert value not in f"{hit.path}{hit.what}"
        assert repr(key) in hit.what


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "required"),
        ("password", "string"),
        ("password", ""),
        ("password", "short1!"),
        ("password", "a sentence about 2 passwords"),
        ("password", {"type": "string"}),
        ("password", True),
        ("password", None),
        ("password", 12345678),
        ("api_key", "********"),
        ("api_key", "[masked]"),
        ("api_key", "<your-key-1>"),
        ("api_key", "${API_KEY_1}"),
        ("api_key", "{{ vault.key1 }}"),
        ("api_key", "env:API_KEY_1"),
        ("authorization", "Bearer ${TOKEN_1}"),
        ("authorization", "none"),
        ("passwords_changed", "2026-11-26"),
        ("tokens", "Abcdefgh1234"),
        ("token", "Abcdefgh1234"),
    ],
)
def test_a_placeholder_a_word_or_another_name_is_none(key: str, value: Any) -> None:
    assert find({key: value}) is None


def test_registered_values_are_found_unless_texts_have_them_by_chance() -> None:
    values = registrable(["postgres", "aaaaaaaaaaaaaaaa", "  s3cr3t-of-the-house\n", "", "abcdef"])
    assert values == ("s3cr3t-of-the-house",)
    hit = find({"a": "x s3cr3t-of-the-house y"}, registered=values)
    assert hit == credentials.Hit("$.a", "a registered secret")
    assert masked("x s3cr3t-of-the-house y", values) == "x *** y"


def test_a_path_that_is_let_through_lets_through_nothing_beside_it() -> None:
    secret = MADE["a GitHub token"]
    value = {"a": {"b": [secret]}, "ab": secret}
    assert find(value, exempt=["$.a"]) == find({"ab": secret})
    assert find(value, exempt=["$.a.b[0]", "$.ab"]) is None
    assert find(value, exempt=["$"]) is None
    hit = find(value, exempt=["$.ab"])
    assert hit is not None
    assert hit.path == "$.a.b[0]"


def test_values_that_become_json_and_values_that_never_end() -> None:
    from gatepost import State

    class Inner(State):
        note: str = ""

    hit = find({"inner": [Inner(note=MADE["a Stripe key"])]})
    assert hit is not None
    assert hit.path == "$.inner[0].note"
    circle: list[Any] = []
    circle.append(circle)
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"a": deep}
    assert find(circle) is None
    assert find(deep) is None
    assert find(object()) is None
