"""Weather: what models of the atmosphere do to fields of three dimensions, horizontally and column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def horizontal_diffusion(field: Array, coefficient: Array) -> Any:
    """Diffusion of fourth order with limited fluxes, level by level at once."""
    laplacian = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    flux_x = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux_x)
    flux_y = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux_y)
    out = field.copy()
    out[2:-2, 2:-2] -= coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
    return out


def vertical_diffusion(temperature: Array, exchange: Array, dt: float) -> Any:
    """An implicit step in every column: sweeps down and up over levels of whole planes."""
    levels = temperature.shape[0]
    upper = np.empty_like(temperature)
    right = np.empty_like(temperature)
    middle = 1.0 + dt * exchange[0]
    upper[0] = -dt * exchange[0] / middle
    right[0] = temperature[0] / middle
    for k in range(1, levels):
        below = exchange[k] if k < levels - 1 else np.zeros_like(middle)
        lower = -dt * exchange[k - 1]
        middle = 1.0 + dt * (exchange[k - 1] + below) - lower * upper[k - 1]
        upper[k] = -dt * below / middle
        right[k] = (temperature[k] - lower * right[k - 1]) / middle
    for k in range(levels - 2, -1, -1):
        right[k] -= upper[k] * right[k + 1]
    return right


def saturation(temperature: Array, pressure: Array, humidity: Array) -> Any:
    """Condensation: what is above saturation rains, and its heat warms the air; in single precision."""
    celsius = temperature - np.float32(273.15)
    over_ice = celsius < 0
    a = np.where(over_ice, np.float32(21.875), np.float32(17.27))
    b = np.where(over_ice, np.float32(265.5), np.float32(237.3))
    vapour = np.float32(610.78) * np.exp(a * celsius / (celsius + b))
    limit = np.float32(0.622) * vapour / (pressure - np.float32(0.378) * vapour)
    rain = np.maximum(humidity - limit, np.float32(0.0))
    rain /= np.float32(1.0) + np.float32(4.1e6) * limit / (np.float32(1004.0) * temperature)
    humidity -= rain
    temperature += np.float32(2490.0) * rain
    return rain.sum(axis=0)


def advection(tracer: Array, wind: Array, steps: int) -> Any:
    """A tracer carried along a ring of latitude, with a slope limiter."""
    for _ in range(steps):
        left = tracer - np.roll(tracer, 1, axis=-1)
        right = np.roll(tracer, -1, axis=-1) - tracer
        slope = np.where(
            left * right > 0.0, np.sign(left) * np.minimum(np.abs(left), np.abs(right)), 0.0
        )
        edge = np.where(
            wind > 0.0,
            tracer + 0.5 * slope * (1.0 - wind),
            np.roll(tracer - 0.5 * slope * (1.0 + wind), -1, axis=-1),
        )
        flux = wind * edge
        tracer = tracer - (flux - np.roll(flux, 1, axis=-1))
    return tracer


def _air(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    shape = (10, n, n)
    draws = [rng.random(shape, dtype=np.float32) for _ in range(3)]
    temperature = np.float32(250.0) + np.float32(50.0) * draws[0]
    pressure = np.float32(5e4) + np.float32(5e4) * draws[1]
    return temperature, pressure, np.float32(0.02) * draws[2]


def _levels(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random((n, n, 8)), 0.1 * rng.random((n - 4, n - 4, 8))


PROGRAMS = (
    Program(horizontal_diffusion, _levels, Sizes(8, 100, 500), "weather"),
    Program(
        vertical_diffusion,
        lambda n, rng: (rng.random((20, n, n)), rng.random((20, n, n)), 0.3),
        Sizes(4, 64, 400),
        "weather",
    ),
    Program(saturation, _air, Sizes(4, 80, 500), "weather"),
    Program(
        advection,
        lambda n, rng: (rng.random((8, n)), rng.uniform(-0.8, 0.8, (8, n)), 10),
        Sizes(12, 4_000, 200_000),
        "weather",
    ),
)
