"""The native assembler: jumps, prefixes, positions and exception entries of changed code."""

import types

import pytest

from bcjit.bytecode import Position
from bcjit.bytecode.assembler import NativeHandler, NativeInstruction, assemble, parse
from bcjit.bytecode.instruction import NO_POSITION


def sample(x):
    for i in x:
        try:
            i += 1
        except TypeError:
            i = -1
        if i:
            return i
    return None


def padded(count, at=None):
    """`sample` with `count` fillers in its loop."""
    native = parse(sample.__code__)
    names = [n.name for n in native.instructions]
    index = names.index("STORE_FAST") + 1
    filler = [NativeInstruction("NOP", position=at or NO_POSITION) for _ in range(count)]
    native.instructions[index:index] = filler
    return assemble(native)


PREFIXES = {0: 0, 100: 0, 300: 1, 66000: 2}


@pytest.mark.parametrize("count", sorted({*PREFIXES, 1, *range(195, 260, 3)}))
def test_jumps_and_ranges_widen_with_the_code_between(count):
    code = padded(count)
    f = types.FunctionType(code, {"TypeError": TypeError})
    assert f([-1, "text", 5]) == -1
    assert f([-1, -1]) is None
    assert f([-1, 5]) == 6
    again = parse(code)
    assert assemble(again).co_code == code.co_code
    assert len(again.handlers) == len(parse(sample.__code__).handlers)
    longest = max(n.prefixes for n in again.instructions)
    assert longest == PREFIXES.get(count, longest)


def test_prefixes_that_are_not_needed_are_kept():
    native = parse(sample.__code__)
    native.instructions[2].prefixes = 2
    code = assemble(native)
    assert [n.prefixes for n in parse(code).instructions][2] == 2
    assert types.FunctionType(code, {})([3]) == 4
    assert assemble(parse(code)).co_code == code.co_code


def test_a_jump_against_its_direction_is_an_error():
    native = parse(sample.__code__)
    jump = next(n for n in native.instructions if n.name == "JUMP_BACKWARD")
    jump.target = native.instructions[-1]
    with pytest.raises(ValueError, match="JUMP_BACKWARD at .* cannot reach"):
        assemble(native)


@pytest.mark.parametrize(
    "position",
    [
        NO_POSITION,
        Position(7, 7, None, None),
        Position(100000, 100003, 0, 0),
        Position(1, 1, 79, 400),
        Position(12, 13, None, None),
        Position(0, 0, 5, 70),
    ],
    ids=str,
)
def test_positions_of_every_form_come_back(position):
    native = parse(sample.__code__)
    for instruction in native.instructions[::2]:
        instruction.position = position
    expected = [n.position for n in native.instructions]
    assert [n.position for n in parse(assemble(native)).instructions] == expected


def test_positions_cover_prefixes_and_caches():
    code = padded(40, Position(3, 3, 1, 2))
    assert len(list(code.co_positions())) == len(code.co_code) // 2
    assert len(padded(300, Position(3, 3, 1, 2)).co_code) // 2 == len(
        list(padded(300, Position(3, 3, 1, 2)).co_positions())
    )


def test_empty_ranges_are_left_out():
    native = parse(sample.__code__)
    count = len(native.handlers)
    first = native.instructions[1]
    native.handlers.insert(0, NativeHandler(first, first, native.instructions[-1], 0, False))
    assert len(parse(assemble(native)).handlers) == count
