"""Learning: layers of networks forward, clusters, components, a regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def softmax(scores: Array) -> Any:
    """Rows of scores to probabilities, and their entropy."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=-1, keepdims=True)
    entropy = -(probabilities * np.log(probabilities + 1e-12)).sum(axis=-1)
    return probabilities, entropy.mean()


def layer_norm(x: Array, gain: Array, bias: Array) -> Any:
    """Rows to mean zero and variance one."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def attention(queries: Array, keys: Array, values: Array) -> Any:
    """Causal attention of several heads, in single precision."""
    length = queries.shape[1]
    scores = queries @ keys.transpose(0, 2, 1) / np.float32(np.sqrt(queries.shape[-1]))
    future = np.triu(np.ones((length, length), dtype=bool), k=1)
    scores = np.where(future, np.float32(-1e9), scores)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores @ values


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, labels: Array) -> Any:
    """Two layers with GELU, and the loss of a classifier."""
    hidden = x @ w1 + b1
    hidden = 0.5 * hidden * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (hidden + 0.044715 * hidden**3)))
    logits = hidden @ w2 + b2
    logits = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits).sum(axis=1))
    loss = log_sum - logits[np.arange(len(labels)), labels]
    return loss.mean(), (logits.argmax(axis=1) == labels).mean()


def lstm(inputs: Array, weights: Array, recurrent: Array, bias: Array) -> Any:
    """A recurrent layer over a sequence, its four gates in one product."""
    steps, batch, _ = inputs.shape
    units = recurrent.shape[0]
    h = np.zeros((batch, units))
    c = np.zeros((batch, units))
    outputs = np.empty((steps, batch, units))
    for t in range(steps):
        gates = inputs[t] @ weights + h @ recurrent + bias
        i, f, o = (1.0 / (1.0 + np.exp(-gates[:, k * units : (k + 1) * units])) for k in range(3))
        c = f * c + i * np.tanh(gates[:, 3 * units :])
        h = o * np.tanh(c)
        outputs[t] = h
    return outputs, c


def convolution_layer(images: Array, filters: Array, bias: Array) -> Any:
    """A convolution by sums over shifted windows, then ReLU and pooling by maxima."""
    batch, height, width, _ = images.shape
    size = filters.shape[0]
    out = np.zeros(
        (batch, height - size + 1, width - size + 1, filters.shape[3]), dtype=images.dtype
    )
    for i in range(size):
        for j in range(size):
            window = images[:, i : i + out.shape[1], j : j + out.shape[2], :]
            out += window @ filters[i, j]
    out = np.maximum(out + bias, 0)
    even = out[:, : out.shape[1] // 2 * 2, : out.shape[2] // 2 * 2]
    top = np.maximum(even[:, ::2], even[:, 1::2])
    return np.maximum(top[:, :, ::2], top[:, :, 1::2])


def k_means(points: Array, centres: Array, turns: int) -> Any:
    """Clusters: distances to all centres, the nearest, and means of what is theirs."""
    nearest = np.zeros(len(points), dtype=np.intp)
    for _ in range(turns):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for k in range(len(centres)):
            mine = points[nearest == k]
            if len(mine) > 0:
                centres[k] = mine.mean(axis=0)
    return nearest


def principal_components(data: Array, count: int) -> Any:
    """Standardised columns, their covariance, and the leading eigenvectors."""
    scaled = (data - data.mean(axis=0)) / data.std(axis=0)
    covariance = scaled.T @ scaled / (len(data) - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1][:count]
    return scaled @ vectors[:, order], values[order] / values.sum()


def logistic_regression(x: Array, y: Array, weights: Array, rate: float, steps: int) -> Any:
    """Gradient descent written out by hand."""
    for _ in range(steps):
        probabilities = 1.0 / (1.0 + np.exp(-(x @ weights)))
        gradient = x.T @ (probabilities - y) / len(y)
        weights -= rate * (gradient + 0.01 * weights)
    probabilities = 1.0 / (1.0 + np.exp(-(x @ weights)))
    return -(y * np.log(probabilities) + (1.0 - y) * np.log(1.0 - probabilities)).mean()


def adam_step(
    weights: list[Array], gradients: list[Array], first: list[Array], second: list[Array], step: int
) -> Any:
    """An optimiser's step over a list of arrays, in place."""
    for w, g, m, v in zip(weights, gradients, first, second, strict=True):
        m *= 0.9
        m += 0.1 * g
        v *= 0.999
        v += 0.001 * g * g
        w -= 0.01 * (m / (1.0 - 0.9**step)) / (np.sqrt(v / (1.0 - 0.999**step)) + 1e-8)
    return np.sqrt(sum((w * w).sum() for w in weights))


def _network(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    inside, hidden, classes = 16, 32, 10
    layers = rng.standard_normal((inside, hidden)) * 0.3, np.zeros(hidden)
    last = rng.standard_normal((hidden, classes)) * 0.3, np.zeros(classes)
    return rng.standard_normal((n, inside)), *layers, *last, rng.integers(0, classes, n)


def _sequence(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    batch, inside, units = 8, 12, n
    weights = rng.standard_normal((inside, 4 * units)) * 0.2
    recurrent = rng.standard_normal((units, 4 * units)) * 0.2
    steps = 5 if n < 16 else 30
    return rng.standard_normal((steps, batch, inside)), weights, recurrent, np.zeros(4 * units)


def _pictures(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    images = rng.standard_normal((4, n, n, 3), dtype=np.float32)
    filters = rng.standard_normal((3, 3, 3, 8), dtype=np.float32)
    return images, filters, np.zeros(8, dtype=np.float32)


def _regression(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.standard_normal((n, 8))
    return x, (x[:, 0] > 0.2).astype(float), np.zeros(8), 0.5, 10


def _parameters(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    shapes = [(n, 4), (n,), (4, n)]
    weights, gradients = ([rng.standard_normal(shape) for shape in shapes] for _ in range(2))
    first, second = ([np.zeros(shape) for shape in shapes] for _ in range(2))
    return weights, gradients, first, second, 3


def _heads(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return tuple(rng.standard_normal((4, n, 16), dtype=np.float32) for _ in range(3))


PROGRAMS = (
    Program(
        softmax, lambda n, rng: (rng.standard_normal((n, 64)),), Sizes(2, 1_000, 50_000), "learning"
    ),
    Program(
        layer_norm,
        lambda n, rng: (rng.standard_normal((n, 64)), np.ones(64), np.zeros(64)),
        Sizes(2, 1_000, 50_000),
        "learning",
    ),
    Program(attention, _heads, Sizes(6, 128, 1_000), "learning"),
    Program(mlp, _network, Sizes(6, 2_000, 100_000), "learning"),
    Program(lstm, _sequence, Sizes(4, 32, 256), "learning"),
    Program(convolution_layer, _pictures, Sizes(8, 48, 256), "learning"),
    Program(
        k_means,
        lambda n, rng: (rng.standard_normal((n, 3)), rng.standard_normal((5, 3)), 4),
        Sizes(30, 5_000, 200_000),
        "learning",
    ),
    Program(
        principal_components,
        lambda n, rng: (rng.standard_normal((n, 12)), 3),
        Sizes(20, 5_000, 200_000),
        "learning",
    ),
    Program(logistic_regression, _regression, Sizes(20, 5_000, 200_000), "learning"),
    Program(adam_step, _parameters, Sizes(6, 5_000, 300_000), "learning"),
)
