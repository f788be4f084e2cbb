"""Names: visible NFC text of one script, and which of them look alike."""

from __future__ import annotations

import pytest

from checkpoints.errors import InvalidValue
from checkpoints.names import check_name, name_fault, skeleton

ALLOWED = [
    *(
        "pay",
        "send_mail",
        "Fetch invoices (2026)",
        "x",
        "mcp/server:tool",
        "größe",
        "Żółć",
        "日本の請求書",
    ),
    *("支払いPay", "Pay結算", "ㄅㄆ漢字Pay", "결제 Pay 漢", "платёж", "πληρωμή", "תשלום"),
    *("№ 7", "naïve", "ー", "a²"),
]
REFUSED = {
    "": "is empty",
    "  ": "is empty",
    " pay": "begins or ends with a blank",
    "pay ": "begins or ends with a blank",
    "pa\u200by": "U+200B",
    "pay\u202e": "U+202E",
    "pa\u00ady": "U+00AD",
    "pay\n": "U+000A",
    "pa\u00a0y": "U+00A0",
    "pa\u3164y": "U+3164",
    "pay\ufe0f": "U+FE0F",
    "pay\ue000": "U+E000",
    "re\u0301sume\u0301": "NFC",
    "p\u0430y": "U+0430",
    "p\u03b1y": "Greek U+03B1",
    "かпай": "several scripts",
    "결제かPay": "several scripts",
}


@pytest.mark.parametrize("name", ALLOWED)
def test_names_of_one_script_and_of_the_mixes_of_east_asia(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_name_is_refused_with_the_character(name: str) -> None:
    assert REFUSED[name] in name_fault(name)
    with pytest.raises(InvalidValue) as refused:
        check_name(name, "$.agent")
    assert refused.value.path == "$.agent"
    assert refused.value.reason.isascii()


@pytest.mark.parametrize(
    "other",
    [
        "Pay",
        "PAY",
        "pay\u200b",
        " pay ",
        "p\u0430y",
        "\u0440\u0430\u0443",
        "ｐａｙ",
        "𝐩𝐚𝐲",
        "p\u00ada\u2060y",
    ],
)
def test_look_alikes_have_one_skeleton(other: str) -> None:
    assert skeleton(other) == skeleton("pay")
    assert skeleton(other) != skeleton("play")


def test_digits_and_pairs_look_like_letters() -> None:
    assert skeleton("b1ll") == skeleton("bill") == skeleton("bIII")
    assert skeleton("rnail") == skeleton("mail")
    assert skeleton("t0tal") == skeleton("total")
