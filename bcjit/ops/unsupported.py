"""Public names of NumPy that are in no entry of the op table on purpose, each with its reason; plain data.

They belong to the host or to worlds that are not numeric: files, texts, dates, classes, settings, user functions. A call of
one breaks the graph and runs as plain Python. A name may be missing from some version of NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["UNSUPPORTED"]


def _names(owner: str, words: str) -> list[str]:
    return [f"{owner}.{word}" for word in words.split()]


_GROUPS: Final[tuple[tuple[str, list[str]], ...]] = (
    (
        "It reads or writes files.",
        _names(
            "np",
            "fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed",
        )
        + _names("np.ndarray", "dump tofile")
        + _names("np.generic", "dump tofile"),
    ),
    (
        "It reads numbers from bytes, texts or iterators, which are not arrays.",
        _names("np", "from_dlpack frombuffer fromiter fromstring"),
    ),
    (
        "It gives Python objects (lists, bytes, memory) made of the elements, which are known when the graph has run.",
        _names("np.ndarray", "ctypes data dumps tobytes tolist tostring")
        + _names("np.generic", "data dumps tobytes tolist tostring")
        + _names("np.random", "bytes")
        + _names("np.random.Generator", "bytes spawn")
        + _names("np.random.RandomState", "bytes"),
    ),
    (
        "It gives or takes texts.",
        _names(
            "np",
            "array2string array_repr array_str base_repr binary_repr einsum_path format_float_positional "
            "format_float_scientific typename",
        ),
    ),
    (
        "It sets or tells how arrays are printed.",
        _names("np", "get_printoptions printoptions set_printoptions"),
    ),
    (
        "It sets or tells how floating-point errors and buffers are treated, which is the state of the thread.",
        _names("np", "errstate getbufsize geterr geterrcall setbufsize seterr seterrcall"),
    ),
    (
        "It works on dates, which are no numbers here.",
        _names(
            "np",
            "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat "
            "timedelta64",
        ),
    ),
    (
        "It makes or is made of elements that are no numbers: texts, bytes, records, objects.",
        _names("np", "bytes_ object_ rec recarray record str_ void"),
    ),
    (
        "It tells about, or runs tests of, the installed NumPy.",
        _names("np", "get_include info show_config show_runtime test")
        + _names("np.linalg", "test")
        + _names("np.fft", "test")
        + _names("np.random", "test"),
    ),
    (
        "It calls a function of the program for elements or slices, which is not followed.",
        _names(
            "np",
            "apply_along_axis apply_over_axes fromfunction frompyfunc mask_indices vectorize",
        ),
    ),
    (
        "It gives an iterator over elements, which Python asks one by one.",
        _names("np", "broadcast flatiter ndenumerate ndindex nditer nested_iters")
        + _names("np.ndarray", "flat")
        + _names("np.generic", "flat"),
    ),
    (
        "It makes an array of a class of its own, which runs as plain Python.",
        _names("np", "asmatrix bmat ma matrix poly1d"),
    ),
    (
        "It tells about the memory of an array: where it is, how it is laid out, who owns it.",
        _names("np", "may_share_memory shares_memory")
        + _names("np.ndarray", "base flags strides")
        + _names("np.generic", "base flags strides"),
    ),
    (
        "It changes the array object itself, not its elements.",
        _names("np.ndarray", "resize setflags") + _names("np.generic", "resize setflags"),
    ),
    (
        "It reads or writes bytes of elements as another dtype at an offset, which only arrays of records need.",
        _names("np.ndarray", "getfield setfield") + _names("np.generic", "getfield setfield"),
    ),
    (
        "On a NumPy scalar it raises, or works on it as on an array without axes, which only arrays need.",
        _names(
            "np.generic",
            "byteswap choose compress diagonal fill nonzero put searchsorted sort swapaxes to_device trace",
        ),
    ),
    (
        "It always warns that it is deprecated, or raises that it is gone.",
        _names("np", "fix in1d row_stack trapz")
        + _names("np.ndarray", "itemset newbyteorder ptp")
        + _names("np.generic", "itemset newbyteorder ptp")
        + _names("np.random", "random_integers")
        + _names("np.random.RandomState", "random_integers"),
    ),
    (
        "It is a class for isinstance and dtype arguments that makes nothing.",
        _names(
            "np",
            "character complexfloating flexible floating generic inexact integer ndarray number signedinteger ufunc "
            "unsignedinteger",
        )
        + _names("np.random", "BitGenerator"),
    ),
    (
        "It is an exception.",
        _names("np.linalg", "LinAlgError"),
    ),
    (
        "It is a module.",
        _names(
            "np",
            "char core ctypeslib dtypes emath exceptions f2py fft lib linalg polynomial random strings testing typing",
        )
        + _names("np.fft", "helper")
        + _names("np.linalg", "linalg")
        + _names("np.random", "bit_generator mtrand"),
    ),
    (
        "It is a constant or a table, read like any attribute of a module.",
        _names(
            "np",
            "False_ ScalarType True_ e euler_gamma inf little_endian nan newaxis pi sctypeDict typecodes",
        ),
    ),
    (
        "It is indexed, not called; the op table has what its index calls.",
        _names("np", "c_ index_exp mgrid ogrid r_ s_"),
    ),
    (
        "It looks at or changes the state behind a generator as Python objects.",
        _names("np.random", "get_bit_generator get_state set_bit_generator set_state")
        + _names("np.random.Generator", "bit_generator")
        + _names("np.random.RandomState", "get_state set_state"),
    ),
    (
        "It draws before it judges the covariance, so what it warns of or raises comes behind the draw, which cannot be repeated.",
        _names("np.random", "multivariate_normal")
        + _names("np.random.Generator", "multivariate_normal")
        + _names("np.random.RandomState", "multivariate_normal"),
    ),
    (
        "The dtype of its result depends on values.",
        _names("np", "roots"),
    ),
    (
        "Its results are a tuple of an array and a tuple.",
        _names("np", "histogramdd"),
    ),
    (
        "It tells about a ufunc, not about numbers.",
        _names("np.ufunc", "identity nargs nin nout ntypes resolve_dtypes signature types"),
    ),
)

# Name -> why it is in no entry.
UNSUPPORTED: Final[Mapping[str, str]] = {
    name: reason for reason, names in _GROUPS for name in names
}
