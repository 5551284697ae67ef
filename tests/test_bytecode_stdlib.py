"""Every code object of the standard library survives both round trips, and the declared stack effects are CPython's.

By default a fixed slice of the files and a fresh one; everything with ``BCJIT_FULL=1``.
"""

import dis
import os
import random
import sys
import sysconfig
import tokenize
import warnings
from pathlib import Path
from types import CodeType

import pytest
from conftest import FULL

from bcjit.bytecode import assembler, decode, dialect, encode
from bcjit.bytecode.instruction import Op, stack_effect

STEP = 23  # of the fixed slice
FRESH_FILES = 20
# Code objects whose computed stack depth is below CPython's: 25, 26 and 25 in the whole libraries of 3.11, 3.12 and 3.13, none after.
# A slice can hold no more, but a share of a slice can be anything, they stand close together.
FEW = 30


def library_files():
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(p for p in root.rglob("*.py") if "site-packages" not in p.parts)


def selected_files():
    files = library_files()
    if FULL:
        return files
    fresh = random.Random(os.environ["BCJIT_FRESH_SEED"])
    return files[::STEP] + fresh.sample(files, FRESH_FILES)


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)


def compiled(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with tokenize.open(path) as file:
                return compile(file.read(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
            return None  # the test suite keeps files that are wrong on purpose


@pytest.fixture(scope="module")
def library():
    modules = [code for path in selected_files() if (code := compiled(path)) is not None]
    return [code for module in modules for code in code_objects(module)]


def facts(listing):
    return [(i.op, i.arg, i.position, i.handler) for i in listing.instructions]


def same(first, second):
    """Equality that tells 0.0 from -0.0 and accepts NaN: constants must be the same objects."""
    if len(first) != len(second):
        return False
    return all(
        a[0] is b[0] and (a[1] is b[1] or a[1] == b[1]) and a[2:] == b[2:]
        for a, b in zip(first, second)
    )


def native_depth(listing):
    """The computed depth, with the names of keywords where CPython has them on the stack and we in the argument."""
    depth = listing.stack_depth()
    if ("LOAD_CONST", "CALL_KW") in dialect.current().groups:
        reached = zip(listing.instructions, listing.depths())
        named = (d + 1 for i, d in reached if i.op is Op.CALL_KW and d is not None)
        depth = max(depth, max(named, default=0))
    return depth


def test_parse_and_assemble_give_the_same_code_object(library):
    for code in library:
        again = assembler.assemble(assembler.parse(code))
        assert again.co_code == code.co_code, code
        assert list(again.co_positions()) == list(code.co_positions()), code
        assert again.co_exceptiontable == code.co_exceptiontable, code
        assert again.co_stacksize == code.co_stacksize, code
    print(f"{len(library)} code objects assembled identically on {sys.version.split()[0]}")
    assert len(library) > 500


def test_encoded_listings_decode_to_equal_listings(library):
    for code in library:
        listing = decode(code)
        assert same(facts(decode(encode(listing))), facts(listing)), code
    print(f"{len(library)} listings encoded and decoded equally on {sys.version.split()[0]}")


def test_computed_stack_depth_is_the_compilers(library):
    smaller = 0
    for code in library:
        depth = native_depth(decode(code))
        assert depth <= code.co_stacksize, code
        # 3.13 gives a function that pushes nothing one slot
        smaller += max(depth, 1) < code.co_stacksize
    print(f"stack depth below co_stacksize for {smaller} of {len(library)}")
    assert smaller <= FEW


def test_offsets_of_groups_are_found_again(library):
    for code in library[:300]:
        listing = decode(code)
        offsets = [i.offset for i in listing.instructions]
        assert offsets == sorted(offsets)
        for offset in dict.fromkeys(offsets):
            group = listing.group_at(offset)
            assert listing.instructions[listing.index_of(offset)] is group[0]
            if group[-1] is not listing.instructions[-1]:
                assert listing.next_offset(offset) == offsets[listing.index_of(offset) + len(group)]


def test_every_opcode_of_this_python_is_in_the_dialect():
    table = dialect.current()
    known = {
        *table.renames,
        *table.readers,
        *table.hidden,
        *(n for run in table.groups for n in run),
    }
    real = {
        n for n, number in dis.opmap.items() if number < 256 and not n.startswith("INSTRUMENTED_")
    }
    assert real <= known, sorted(real - known)
    assert known <= set(dis.opmap), sorted(known - set(dis.opmap))


def test_every_virtual_opcode_has_a_stack_effect():
    arguments = {
        Op.UNPACK_EX: (1, 1),
        Op.CALL_KW: (1, ("a",)),
        Op.FORMAT_VALUE: (None, False),
        Op.BUILD_INTERPOLATION: (None, False),
        Op.MAKE_FUNCTION: (),
    }
    for op in Op:
        for jump in (False, True):
            pops, pushes = stack_effect(op, arguments.get(op, 2), jump=jump)
            assert pops >= 0 and pushes >= 0, op
