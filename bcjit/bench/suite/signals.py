"""Signals and counts: Fourier transforms, histograms, scans, statistics of texts that are arrays of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def fft_convolution(signal: Array, kernel: Array) -> Any:
    """A long signal and a kernel, multiplied in the domain of frequencies."""
    length = len(signal) + len(kernel) - 1
    padded = 1 << (length - 1).bit_length()
    product = np.fft.rfft(signal, padded) * np.fft.rfft(kernel, padded)
    out = np.fft.irfft(product, padded)[:length]
    return out / np.abs(out).max()


def spectral_sums(frames: Array) -> Any:
    """Windowed frames of sound: power, centroid, spread and roll-off."""
    window = np.hanning(frames.shape[1])
    power = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    frequencies = np.arange(power.shape[1]) / frames.shape[1]
    total = power.sum(axis=1) + 1e-12
    centroid = (power * frequencies).sum(axis=1) / total
    spread = np.sqrt((power * (frequencies - centroid[:, None]) ** 2).sum(axis=1) / total)
    roll_off = (power.cumsum(axis=1) < 0.85 * total[:, None]).sum(axis=1)
    return 10.0 * np.log10(total), centroid, spread, roll_off


def histogram_2d(x: Array, y: Array, bins: int) -> Any:
    """Counts over a grid by index arithmetic, and the information that the two share."""
    column = ((x - x.min()) / (x.max() - x.min()) * bins).astype(np.int64).clip(0, bins - 1)
    row = ((y - y.min()) / (y.max() - y.min()) * bins).astype(np.int64).clip(0, bins - 1)
    counts = np.bincount(row * bins + column, minlength=bins * bins).reshape(bins, bins)
    joint = counts / counts.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    filled = joint > 0
    return counts, (joint[filled] * np.log(joint[filled] / apart[filled])).sum()


def scatter_add(weights: Array, keys: Array, groups: int) -> Any:
    """Sums by group with np.add.at, and each group's share."""
    sums = np.zeros(groups)
    np.add.at(sums, keys, weights)
    counts = np.zeros(groups, dtype=np.int64)
    np.add.at(counts, keys, 1)
    return sums / np.maximum(counts, 1), sums / sums.sum()


def prefix_scans(values: Array) -> Any:
    """Drawdowns, runs and ranks from running sums and maxima."""
    level = np.cumsum(values)
    peak = np.maximum.accumulate(level)
    drawdown = peak - level
    up = values > 0
    position = np.arange(len(values))
    last_down = np.maximum.accumulate(np.where(up, 0, position))
    longest = (position - last_down).max()
    return drawdown.max(), drawdown.argmax(), longest


def exponential_smoothing(values: Array, alpha: float) -> Any:
    """A recurrence, item by item."""
    out = np.empty_like(values)
    out[0] = values[0]
    for i in range(1, len(values)):
        out[i] = alpha * values[i] + (1.0 - alpha) * out[i - 1]
    return out


def despike(signal: Array, limit: float) -> Any:
    """What is far from a running median of five is replaced by it, in place."""
    windows = np.lib.stride_tricks.sliding_window_view(signal, 5)
    median = np.median(windows, axis=1)
    middle = signal[2:-2]
    spikes = np.abs(middle - median) > limit
    middle[spikes] = median[spikes]
    return np.count_nonzero(spikes)


def text_statistics(text: Array) -> Any:
    """Letters, pairs of letters, words and their lengths, from an array of bytes."""
    lower = np.where((text >= 65) & (text <= 90), text + 32, text)
    letter = (lower >= 97) & (lower <= 122)
    counts = np.bincount(lower[letter] - 97, minlength=26)
    pair = letter[:-1] & letter[1:]
    pairs = np.zeros((26, 26), dtype=np.int64)
    np.add.at(pairs, (lower[:-1][pair] - 97, lower[1:][pair] - 97), 1)
    starts = np.flatnonzero(letter & ~np.concatenate((np.zeros(1, bool), letter[:-1])))
    ends = np.flatnonzero(letter & ~np.concatenate((letter[1:], np.zeros(1, bool))))
    lengths = ends - starts + 1
    share = counts / max(counts.sum(), 1)
    entropy = -(share[share > 0] * np.log2(share[share > 0])).sum()
    return counts, pairs.argmax(), np.bincount(lengths, minlength=8), entropy


def _bytes(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    letters = np.frombuffer(b"etaoin shrdlu ETAOIN, cmfwyp vbgkqjxz. ", dtype=np.uint8)
    return (letters[rng.integers(0, len(letters), n)].copy(),)


def _spiky(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    signal = np.sin(np.linspace(0.0, 20.0, n)) + 0.05 * rng.standard_normal(n)
    signal[rng.integers(0, n, n // 20)] += 4.0
    return signal, 0.5


PROGRAMS = (
    Program(
        fft_convolution,
        lambda n, rng: (rng.standard_normal(n), rng.standard_normal(33)),
        Sizes(100, 50_000, 1_000_000),
        "signals",
    ),
    Program(
        spectral_sums,
        lambda n, rng: (rng.standard_normal((n, 256)),),
        Sizes(2, 300, 10_000),
        "signals",
    ),
    Program(
        histogram_2d,
        lambda n, rng: (rng.standard_normal(n), rng.standard_normal(n), 24),
        Sizes(50, 100_000, 3_000_000),
        "signals",
    ),
    Program(
        scatter_add,
        lambda n, rng: (rng.random(n), rng.integers(0, 50, n), 50),
        Sizes(30, 100_000, 3_000_000),
        "signals",
    ),
    Program(
        prefix_scans,
        lambda n, rng: (rng.standard_normal(n),),
        Sizes(30, 100_000, 5_000_000),
        "signals",
    ),
    Program(
        exponential_smoothing,
        lambda n, rng: (rng.standard_normal(n), 0.1),
        Sizes(30, 20_000, 500_000),
        "signals",
        by_element=True,
    ),
    Program(despike, _spiky, Sizes(40, 20_000, 500_000), "signals"),
    Program(text_statistics, _bytes, Sizes(60, 100_000, 3_000_000), "signals"),
)
