"""The objects of NumPy that are indexed to make arrays, by their classes: mgrid, ogrid, r_ and c_; the ops are in `index_tricks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

__all__ = ["GET_GRID", "GET_JOINED", "INDEXED"]

GET_GRID: Final = type(np.ogrid).__getitem__  # one function for mgrid and ogrid
GET_JOINED: Final = type(np.c_).__getitem__  # one function for r_ and c_

# The class of an object -> what its index calls.
INDEXED: Final[Mapping[type, Callable[..., object]]] = {
    type(np.mgrid): GET_GRID,
    type(np.ogrid): GET_GRID,
    type(np.r_): GET_JOINED,
    type(np.c_): GET_JOINED,
}
