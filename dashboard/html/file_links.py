"""Links to files under the name by which a page refers to the bytes.

The same bytes are kept once, under the name of the first upload; a thread that refers to
them by another name is downloaded from under that. A page signs the name that it shows, so that a
link made elsewhere cannot give a file any name.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.urls import reverse

SALT = "gatepost.file-name"


def file_url(sha: str, name: str, *, inline: bool = False) -> str:
    """The address of a file for a page that calls it `name`; raises NoReverseMatch."""
    query = {"as": Signer(salt=f"{SALT}:{sha}").sign(name)} | ({"inline": "1"} if inline else {})
    return f"{reverse('artifact', args=[sha])}?{urlencode(query)}"


def preview_url(sha: str, name: str) -> str:
    """The page with a look into a file that a page calls `name`."""
    query = {"as": Signer(salt=f"{SALT}:{sha}").sign(name)}
    return f"{reverse('artifact_preview', args=[sha])}?{urlencode(query)}"


def name_in(word: str, sha: str, otherwise: str) -> str:
    """The name that a page of ours gave the file in its link, else the one it is kept under."""
    try:
        return Signer(salt=f"{SALT}:{sha}").unsign(word) or otherwise
    except BadSignature:
        return otherwise
