"""An edge-preserving filter chain over a photograph, written with plain NumPy slices: blur, gradient, threshold.

The photograph is one that matplotlib ships (Grace Hopper, 600 by 512 pixels).
"""

from __future__ import annotations

import numpy as np
from matplotlib import cbook
from PIL import Image


def photograph() -> np.ndarray:
    """Return the photograph in grey, float64 from 0 to 1."""
    path = cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(path) as picture:
        return np.asarray(picture.convert("L"), dtype=np.float64) / 255.0


def blur(image: np.ndarray) -> np.ndarray:
    """Blur by a 3 by 3 binomial kernel; the border is kept."""
    out = image.copy()
    out[1:-1] = 0.25 * image[:-2] + 0.5 * image[1:-1] + 0.25 * image[2:]
    rows = out.copy()
    out[:, 1:-1] = 0.25 * rows[:, :-2] + 0.5 * rows[:, 1:-1] + 0.25 * rows[:, 2:]
    return out


def edge_strength(image: np.ndarray) -> np.ndarray:
    """Length of the gradient by central differences; zero on the border."""
    strength = np.zeros_like(image)
    dx = image[1:-1, 2:] - image[1:-1, :-2]
    dy = image[2:, 1:-1] - image[:-2, 1:-1]
    strength[1:-1, 1:-1] = np.sqrt(dx * dx + dy * dy)
    return strength


def filter_chain(image: np.ndarray, threshold: float) -> np.ndarray:
    """Smooth where the picture is smooth, keep it where it has edges, and stretch the contrast."""
    smooth = blur(blur(image))
    edges = edge_strength(smooth)
    out = np.where(edges > threshold * edges.mean(), image, smooth)
    out -= out.min()
    out /= out.max()
    return out
