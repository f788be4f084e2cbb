"""Each recorded shape is read as it is meant, over HTTP."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.unit.wires.comparison import LIBRARIES, count, interpreter, our_reading, peer_readings
from tests.unit.wires.readers import is_right, ours
from tests.unit.wires.recorded_shapes import Shape, servers, shapes

pytestmark = pytest.mark.requirement("F01")
ALL = shapes()


@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
def test_a_shape_is_read_right(shape: Shape) -> None:
    result = ours(shape)
    assert is_right(result, shape), (result, shape.reading)


def test_there_are_many_shapes_of_many_servers_each_with_its_source() -> None:
    public = [shape for shape in ALL if shape.basis != "variation"]
    assert len(public) >= 100
    assert len(servers(public)) >= 25
    for shape in public:
        assert re.fullmatch(r"https://\S+", shape.source), shape.name
    assert set(Counter(shape.basis for shape in ALL)) == {"recorded", "described", "variation"}


@pytest.mark.nightly
@pytest.mark.parametrize("library", LIBRARIES)
def test_no_other_library_reads_more_of_them(library: str) -> None:
    readings = peer_readings(interpreter(), library)
    mine = {shape.name: our_reading(shape) for shape in ALL}
    assert sum(count(ALL, readings)) > len(ALL) // 2  # it was asked
    assert sum(count(ALL, readings)) <= sum(count(ALL, mine)) == len(ALL)
