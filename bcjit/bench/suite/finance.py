"""Finance: closed formulas element by element, and simulated prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def black_scholes(spot: Array, strike: Array, years: Array, rate: float, volatility: float) -> Any:
    """Prices of calls and puts, the normal distribution by a polynomial."""
    spread = volatility * np.sqrt(years)
    up = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    down = up - spread
    probabilities = []
    for d in (up, down):
        k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
        tail = k * (
            0.31938153
            + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = tail * np.exp(-0.5 * d * d) / np.sqrt(2.0 * np.pi)
        probabilities.append(np.where(d >= 0.0, 1.0 - tail, tail))
    discounted = strike * np.exp(-rate * years)
    call = spot * probabilities[0] - discounted * probabilities[1]
    put = call - spot + discounted
    return call, put


def asian_option(rng: np.random.Generator, paths: int, steps: int, strike: float) -> Any:
    """An option on an average price, by Monte Carlo with a Generator."""
    drift = (0.03 - 0.5 * 0.2**2) / steps
    shocks = rng.standard_normal((paths, steps)) * (0.2 / np.sqrt(steps))
    prices = 100.0 * np.exp(np.cumsum(drift + shocks, axis=1))
    payoff = np.maximum(prices.mean(axis=1) - strike, 0.0) * np.exp(-0.03)
    return payoff.mean(), payoff.std() / np.sqrt(paths)


def barrier_option(seed: int, paths: int, steps: int, barrier: float) -> Any:
    """An option that dies at a barrier: a loop over time, with np.random's global stream."""
    np.random.seed(seed)
    price = np.full(paths, 100.0)
    alive = np.ones(paths, dtype=bool)
    for _ in range(steps):
        price = price * np.exp(0.0002 + 0.01 * np.random.standard_normal(paths))
        alive &= price < barrier
    return np.where(alive, np.maximum(price - 100.0, 0.0), 0.0).mean()


def moving_averages(close: Array, short: int, long: int) -> Any:
    """Two moving averages of a price, and what buying at their crossings would have earned."""
    total = np.concatenate((np.zeros(1), np.cumsum(close)))
    fast = (total[short:] - total[:-short]) / short
    slow = (total[long:] - total[:-long]) / long
    above = fast[long - short :] > slow
    returns = np.diff(np.log(close[long - 1 :]))
    held = above[:-1] * returns
    crossings = np.count_nonzero(above[1:] != above[:-1])
    return held.sum(), crossings, np.maximum.accumulate(held.cumsum()).max()


def _options(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    spot, strike = rng.uniform(50.0, 150.0, n), rng.uniform(50.0, 150.0, n)
    return spot, strike, rng.uniform(0.1, 2.0, n), 0.03, 0.25


def _closes(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return 100.0 * np.exp(np.cumsum(0.01 * rng.standard_normal(n))), 5, 20


PROGRAMS = (
    Program(black_scholes, _options, Sizes(64, 50_000, 2_000_000), "finance"),
    Program(asian_option, lambda n, rng: (rng, n, 50, 100.0), Sizes(10, 1_000, 50_000), "finance"),
    Program(
        barrier_option, lambda n, rng: (11, n, 60, 120.0), Sizes(10, 5_000, 200_000), "finance"
    ),
    Program(moving_averages, _closes, Sizes(100, 100_000, 5_000_000), "finance"),
)
