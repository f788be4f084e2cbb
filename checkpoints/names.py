"""Names that key a record or a rule: which are allowed, and which look alike. Pure.

A name of an agent, node, tool, channel or position is visible NFC text without outer blanks, its
letters of one script or of a mix that UTS 39 calls highly restrictive (Latin beside Japanese,
Chinese or Korean). Two names look alike where their skeletons are equal: without case,
compatibility forms and the look-alikes of ASCII letters and digits in Unicode's confusables.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from .errors import InvalidValue
from .unseen import code_point

# Categories of characters that cannot be seen: control, format, surrogate, private, unassigned,
# separators but the blank.
UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Drawn as nothing or as a blank, though they are letters or marks by category.
FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
LATIN: Final = "LATIN"
# What may stand beside Latin, and beside each other.
TOGETHER: Final = (
    frozenset({LATIN, "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({LATIN, "CJK", "BOPOMOFO"}),
    frozenset({LATIN, "CJK", "HANGUL"}),
)
# First words of names of letters that belong to no script of their own.
COMMON: Final = frozenset({"MODIFIER", "COMBINING", "KATAKANA-HIRAGANA", "FEMININE", "MASCULINE"})
# Several scripts share these first words.
SHARED: Final = frozenset({"OLD", "NEW", "TAI", "MEETEI", "SORA", "LINEAR"})


def name_fault(name: str) -> str:
    """Say why a text is no name, with the character as an escape; empty where it is one."""
    if name.isascii() and name.isprintable() and name.strip(" ") == name != "":
        return ""
    if not name.strip():
        return "is empty"
    for char in name:
        category = unicodedata.category(char)
        if category in UNSEEN or char in FILLERS or _is_selector(char):
            return f"has a character that nobody sees, {code_point(char)}"
        if category == "Zs" and char != " ":
            return f"has a blank of another kind, {code_point(char)}"
    if name.strip() != name:
        return "begins or ends with a blank"
    if (other := unicodedata.normalize("NFC", name)) != name:
        first = next((a for a, b in zip(name, other, strict=False) if a != b), name[-1])
        return f"is not in Unicode's normal form NFC, from {code_point(first)} on"
    return _mixed(name)


def is_faulty_key(key: str) -> bool:
    """Say whether the key of a position is no name, with or without its number."""
    return bool(name_fault(key) and name_fault(key.rpartition("#")[0] or key))


def check_name(name: str, path: str) -> None:
    """Raise InvalidValue for a text that is no name."""
    if fault := name_fault(name):
        raise InvalidValue(path, f"{fault}: {escaped(name)}")


def escaped(name: str) -> str:
    """A name with each character outside of ASCII as an escape, in quotes."""
    shown = "".join(c if " " <= c <= "~" else code_point(c).join("{}") for c in name[:200])
    return f"'{shown}'"


@lru_cache(maxsize=4_096)
def skeleton(name: str) -> str:
    """The form in which names that look alike are equal; not for display."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (c for c in text if unicodedata.category(c) not in UNSEEN and c not in FILLERS)
    text = "".join(c for c in seen if not _is_selector(c)).translate(_ALIKE)
    return " ".join(text.replace("m", "rn").replace("w", "vv").split())


@lru_cache(maxsize=4_096)
def plain_letters(name: str) -> str:
    """The name in the ASCII letters that its own look like; not for display."""
    text = unicodedata.normalize("NFKC", name)
    seen = (c for c in text if unicodedata.category(c) not in UNSEEN and c not in FILLERS)
    return "".join(_plain(c) for c in seen if not _is_selector(c)).strip()


def _plain(char: str) -> str:
    plain = _PLAIN.get(char) or _PLAIN.get(char.casefold(), char)
    return plain.upper() if char.isupper() else plain


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff"


def _mixed(name: str) -> str:
    scripts: dict[str, str] = {}  # by script its first letter
    for char in name:
        if char.isalpha() and (script := _script(char)):
            scripts.setdefault(script, char)
    if len(scripts) <= 1 or any(scripts.keys() <= mix for mix in TOGETHER):
        return ""
    named = ", ".join(f"{script.title()} {code_point(char)}" for script, char in scripts.items())
    return f"mixes letters of several scripts ({named})"


def _script(char: str) -> str:
    """The script of a letter, as the first words of its name; empty for those of no script."""
    words = unicodedata.name(char, "").split(" ")
    if words[0] in COMMON:
        return ""
    if words[0] in ("FULLWIDTH", "HALFWIDTH"):
        return words[1]
    return " ".join(words[:2]) if words[0] in SHARED else words[0]


# Unicode's confusables.txt, what is alphanumeric and like one ASCII letter or digit after casefold
# and NFKC; `i`, `1` and `|` are like `l`, `0` is like `o`.
_LOOK_ALIKES: Final = {
    "2": "\u01a8\u03e9\u14bf\u2781\ua645\ua6ef\ua75b",
    "3": "\u021d\u025c\u0292\u0437\u04e1\u2782\u2ccd\ua76b\U000118ca\U00016f3b",
    "4": "\u13ce\u2783\U000118cf",
    "5": "\u01bd\u2784\U000118db",
    "6": "\u0431\u13ee\u2785\u2cd3\U000118d5",
    "7": "\u2786\U000104fa\U000118c6",
    "8": "\u0223\u09ea\u0a6a\u2787\U0001031a",
    "9": "\u09ed\u0a67\u0b68\u0d6d\u2788\u2ccb\ua76f\U000118cc\U000118d6",
    "a": "\u0251\u03b1\u0430\u13aa\u15c5\ua4ee\U000102a0\U00016f40",
    "b": (
        "\u0185\u03b2\u0432\u044c\u13cf\u13f4\u1472\u15af\u15f7\ua4d0\ua7b5\U00010282"
        "\U000102a1\U00010301"
    ),
    "c": (
        "\u03c3\u0441\u13df\u1d04\u2ca5\ua4da\U000102a2\U00010302\U0001043d\U0001051c"
        "\U000118e9\U000118f2"
    ),
    "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    "e": "\u03b5\u0435\u04bd\u13ac\u2d39\ua4f0\uab32\U00010286\U000118c6\U000118ce",
    "f": "\u03dd\u0584\u15b4\u1e9d\ua4dd\ua799\uab35\U00010287\U000102a5\U00010525\U000118c2",
    "g": "\u018d\u0261\u050d\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": "\u03b7\u043d\u04bb\u0570\u13bb\u13c2\u157c\u2c8f\ua4e7\U000102cf",
    "j": "\u029d\u03f3\u0458\u13ab\u148d\ua4d9",
    "k": "\u03ba\u043a\u13e6\u16d5\u2c95\ua4d7\U00010518",
    "l": (
        "\u0131\u01c0\u0269\u026a\u03b9\u0456\u04cf\u06f1\u13a5\u13de\u14aa\u16c1\u18f3\u2780"
        "\u2c93\u2cd1\u2d4f\ua4e1\ua4f2\ua647\U0001028a\U00010309\U00010320\U00010443"
        "\U00010526\U000118c3\U000118d2\U00016f16\U00016f28"
    ),
    "m": "\u03bc\u03fb\u043c\u13b7\u15f0\u16d6\u2c99\ua4df\U000102b0\U00010311",
    "n": "\u03bd\u0578\u057c\u2c9b\ua4e0\U00010513",
    "o": (
        "\u03bf\u03c3\u043e\u0585\u06f5\u0966\u09e6\u0a66\u0ae6\u0b20\u0b66\u0be6\u0c66\u0ce6"
        "\u0d20\u0d66\u0e50\u0ed0\u101d\u1040\u10ff\u12d0\u1d0f\u1d11\u2c9f\u2d54\u3007\ua4f3"
        "\uab3d\U00010292\U000102ab\U0001042c\U000104ea\U00010516\U000114d0\U000118c8"
        "\U000118d5\U000118d7\U000118e0"
    ),
    "p": "\u03c1\u0440\u13e2\u146d\u18d6\u2ca3\ua4d1\U00010295",
    "q": "\u051b\u0563\u0566\u2d55",
    "r": (
        "\u0280\u0433\u13a1\u13b1\u13d2\u1587\u18f4\u1d26\u2c85\ua4e3\uab47\uab48\U000104dc"
        "\U00016f35"
    ),
    "s": (
        "\u01bd\u0455\u057f\u13d5\u13da\u18f5\ua4e2\ua731\U00010296\U00010448\U000118c1\U00016f3a"
    ),
    "t": "\u03c4\u0442\u13a2\u2ca7\ua4d4\U00010297\U000102b1\U00010315\U000118dc\U00016f0a",
    "u": (
        "\u028b\u03c5\u057d\u1200\u144c\u1d1c\ua4f4\ua79f\uab4e\uab52\U000104f6\U000118d8\U00016f42"
    ),
    "v": (
        "\u03bd\u0475\u06f7\u13d9\u142f\u1d20\u2d38\ua4e6\ua6df\U0001051d\U00011706\U000118c0"
        "\U00016f08"
    ),
    "w": (
        "\u026f\u0461\u051d\u0561\u13b3\u13d4\u1d21\ua4ea\U0001170a\U0001170e\U0001170f"
        "\U000118e6\U000118ef"
    ),
    "x": (
        "\u03c7\u0445\u1541\u157d\u16b7\u2cad\u2d5d\ua4eb\uab53\U00010290\U000102b4\U00010317"
        "\U00010322\U00010527\U000118ec"
    ),
    "y": (
        "\u0263\u028f\u03b3\u03c5\u0443\u04af\u10e7\u13a9\u13bd\u1d8c\u1eff\u2ca9\ua4ec\uab5a"
        "\U000102b2\U000118c4\U000118dc\U00016f43"
    ),
    "z": "\u03b6\u13c3\u1646\u1d22\ua4dc\U000102f5\U000118c4\U000118c9\U000118e5",
}
_PLAIN: Final = {char: letter for letter, chars in _LOOK_ALIKES.items() for char in chars}
_ALIKE: Final = str.maketrans(_PLAIN | {"i": "l", "1": "l", "|": "l", "0": "o"})
