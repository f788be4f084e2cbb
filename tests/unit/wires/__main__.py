"""`make wires`: how many recorded shapes are read right, by us and by other libraries."""

from __future__ import annotations

import sys

from .comparison import LIBRARIES, all_right, count, interpreter, our_reading, peer_readings
from .recorded_shapes import servers, shapes


def main() -> int:
    """Print the table; 1 if a shape is not read as it is meant."""
    every = shapes()
    public = [shape for shape in every if shape.basis != "variation"]
    print(
        f"{len(public)} shapes of {len(servers(public))} servers and gateways, and "
        f"{len(every) - len(public)} variations of our own. Right: text and calls of an answer; "
        "of an error, that it is one."
    )
    answers = sum("error" not in shape.reading for shape in public)
    errors = len(public) - answers
    print(f"{'':16}{f'answers ({answers})':>16}{f'errors ({errors})':>16}{'variations':>16}")
    rows = {"gatepost": {shape.name: our_reading(shape) for shape in every}}
    for library in LIBRARIES:
        try:
            rows[library] = peer_readings(interpreter(), library)
        except RuntimeError as error:
            print(f"{library:16}{error}", file=sys.stderr)
    own = [shape for shape in every if shape.basis == "variation"]
    for library, readings in rows.items():
        right, noticed = count(public, readings)
        print(f"{library:16}{right:>16}{noticed:>16}{sum(count(own, readings)):>16}")
    wrong = all_right(every)
    for name in wrong:
        print(f"not as meant: {name}")
    print(f"wires: {len(every) - len(wrong)} of {len(every)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
