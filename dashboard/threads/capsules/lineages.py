"""Parent, root and depth of threads that come with a capsule: as far as their relatives come too.

A thread of this installation never becomes the parent or the root of one that is imported: what
people want of a tree, and what it may spend, would reach from one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from checkpoints.capsules.about import About
from checkpoints.capsules.layout import BadCapsule


def lineages(
    about: About, bases: Sequence[About], tree: Sequence[About]
) -> dict[UUID, dict[str, Any]]:
    """{thread: {parent, root, depth}} of all threads in a capsule; BadCapsule for a stranger.

    The thread of the capsule stands on top, with the bases that handed over to it.
    """
    own = {base.id for base in bases}
    results = {one.id: _on_top(one, own) for one in (about, *bases)}
    if len(results | {child.id: None for child in tree}) != 1 + len(bases) + len(tree):
        raise BadCapsule("A thread is in the capsule twice.")
    root = results[about.id]["root"] or about.id
    left = list(tree)
    while left:
        still = [child for child in left if not _note_lineage(child, about, root, results, own)]
        if len(still) == len(left):
            raise BadCapsule(f"{still[0].id} in the capsule is not of the tree of its thread.")
        left = still
    return results


def _on_top(one: About, own: set[UUID]) -> dict[str, Any]:
    root = one.row["root"]
    return {"parent": None, "root": root if root in own else None, "depth": 0}


def _note_lineage(
    child: About, about: About, root: UUID, results: dict[UUID, dict[str, Any]], own: set[UUID]
) -> bool:
    """Note where a child stands, once its parent and the thread it continues for are known."""
    row = child.row
    parent, base = row["parent"], row["base"]
    if child.kind != "thread" or (base is not None and base not in results):
        return False
    if parent in results.keys() - own:
        depth = results[parent]["depth"] + 1
    elif base in results.keys() - own and parent == about.row["parent"]:
        parent, depth = None, results[base]["depth"]  # who continues for the thread itself
    else:
        return False
    results[child.id] = {"parent": parent, "root": root, "depth": depth}
    return True
