"""Images: filters, edges, histograms of levels, fractals."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def blur_and_sharpen(image: Array, amount: float) -> Any:
    """A binomial blur along both axes, and what it took away added again."""
    padded = np.pad(image, 2, mode="edge")
    rows = (
        padded[:, :-4]
        + 4.0 * padded[:, 1:-3]
        + 6.0 * padded[:, 2:-2]
        + 4.0 * padded[:, 3:-1]
        + padded[:, 4:]
    )
    blurred = (
        rows[:-4] + 4.0 * rows[1:-3] + 6.0 * rows[2:-2] + 4.0 * rows[3:-1] + rows[4:]
    ) / 256.0
    return np.clip(image + amount * (image - blurred), 0.0, 1.0)


def sobel_edges(image: Array, threshold: float) -> Any:
    """The gradient's length and angle, and a mask of edges."""
    left, right = image[:, :-2], image[:, 2:]
    across = right - left
    gx = across[:-2] + 2.0 * across[1:-1] + across[2:]
    down = image[2:] - image[:-2]
    gy = down[:, :-2] + 2.0 * down[:, 1:-1] + down[:, 2:]
    length = np.hypot(gx, gy)
    edges = length > threshold * length.max()
    return length, np.arctan2(gy, gx), edges


def equalise(levels: Array) -> Any:
    """An image of bytes whose levels become equally frequent."""
    counts = np.bincount(levels.ravel(), minlength=256)
    share = np.cumsum(counts)
    first = share[share > 0].min()
    table = np.round((share - first) / max(levels.size - int(first), 1) * 255.0)
    return np.clip(table, 0, 255).astype(np.uint8)[levels]


def bilateral(image: Array, radius: int, sigma: float) -> Any:
    """A blur that keeps edges: shifted copies, weighted by how like they are."""
    height, width = image.shape
    padded = np.pad(image, radius, mode="reflect")
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for dy in range(2 * radius + 1):
        for dx in range(2 * radius + 1):
            shifted = padded[dy : dy + height, dx : dx + width]
            far = (dy - radius) ** 2 + (dx - radius) ** 2
            weight = np.exp(-far / (2.0 * radius**2) - (shifted - image) ** 2 / (2.0 * sigma**2))
            total += weight * shifted
            weights += weight
    return total / weights


def mandelbrot(real: Array, imaginary: Array, most: int) -> Any:
    """Turns until a point escapes, for a grid of points at once."""
    c = real[None, :] + 1j * imaginary[:, None]
    z = np.zeros_like(c)
    turns = np.zeros(c.shape, dtype=np.int32)
    for _ in range(most):
        inside = np.abs(z) <= 2.0
        z = np.where(inside, z * z + c, z)
        turns += inside
    return turns


def julia(side: int, most: int) -> Any:
    """A Julia set with a boolean mask of the points that are left."""
    y, x = np.mgrid[-1.5 : 1.5 : side * 1j, -1.5 : 1.5 : side * 1j]
    z = x + 1j * y
    turns = np.zeros(z.shape, dtype=int)
    left = np.ones(z.shape, dtype=bool)
    for turn in range(most):
        z[left] = z[left] ** 2 + (-0.4 + 0.6j)
        left &= z.real**2 + z.imag**2 < 4.0
        turns[left] = turn
    return turns


def grey_world(photo: Array) -> Any:
    """A photograph of bytes: colours balanced, gamma, and its brightness."""
    linear = (photo / np.float32(255.0)) ** np.float32(2.2)
    means = linear.mean(axis=(0, 1))
    balanced = np.minimum(linear * (means.mean() / means), np.float32(1.0))
    brightness = balanced @ np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)
    out = np.rint(balanced ** np.float32(1 / 2.2) * np.float32(255.0)).astype(np.uint8)
    return out, brightness


def _square(n: int, rng: np.random.Generator) -> Array:
    return rng.random((n, n))


def _plane(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return np.linspace(-2.0, 0.5, n), np.linspace(-1.2, 1.2, n), 20 if n < 100 else 40


PROGRAMS = (
    Program(
        blur_and_sharpen, lambda n, rng: (_square(n, rng), 0.8), Sizes(8, 256, 2_000), "images"
    ),
    Program(sobel_edges, lambda n, rng: (_square(n, rng), 0.4), Sizes(8, 256, 2_000), "images"),
    Program(
        equalise,
        lambda n, rng: (rng.normal(90, 20, (n, n)).clip(0, 255).astype(np.uint8),),
        Sizes(8, 512, 4_000),
        "images",
    ),
    Program(bilateral, lambda n, rng: (_square(n, rng), 2, 0.2), Sizes(8, 96, 1_000), "images"),
    Program(mandelbrot, _plane, Sizes(8, 100, 1_000), "images"),
    Program(julia, lambda n, rng: (n, 20 if n < 100 else 40), Sizes(8, 100, 1_000), "images"),
    Program(
        grey_world,
        lambda n, rng: (rng.integers(0, 256, (n, n, 3), dtype=np.uint8),),
        Sizes(8, 150, 1_500),
        "images",
    ),
)
