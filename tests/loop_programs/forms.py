"""The forms that loops and branches have in Python, around a little work."""

from __future__ import annotations

import numpy as np

from loop_programs.registry import program, wave


@program(
    lambda: (wave(20), 0.9),
    lambda: (wave(5, dtype="f4"), 9.0),
    lambda: (wave(5, dtype="i8"), 3),
    lambda: (wave(0), 1.0),
)
def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i, x[i]
    return None


@program(
    lambda: (wave(15), 5.0),
    lambda: (wave(15), -1.5),
    lambda: (wave(4, dtype="i4"), 3),
    lambda: (wave(0), 3),
)
def for_else(x, limit):
    total = 0.0
    for value in x:
        total += value
        if total > limit:
            found = "above"
            break
        if total < -limit:
            found = "below"
            break
    else:
        found = "neither"
        total = -total
    return found, total


@program(
    lambda: (wave(14), 3),
    lambda: (wave(3, dtype="f4"), 9),
    lambda: (wave(4), 0),
)
def while_else(x, n):
    k = 0
    while k < n:
        if x[k] > 0.95:
            break
        x[k] *= 2
        k += 1
    else:
        k = -k
    return x, k


@program(
    lambda: (wave(12, 3),),
    lambda: (wave(3, 2, dtype="f4"),),
    lambda: (wave(3, 2, dtype="i8"),),
    lambda: (wave(0, 3),),
)
def over_rows(table):
    total = np.zeros(table.shape[1])
    longest = 0.0
    for row in table:
        size = np.sqrt((row * row).sum())
        if size > longest:
            longest = size
        total += row / (size + 1.0)
    return total, longest


@program(
    lambda: (wave(12, 3),),
    lambda: (wave(3, 2, dtype="f4"),),
    lambda: (wave(3, 2, dtype="i8").T,),
)
def rows_in_place(table):
    for row in table:
        row -= row[0]
        row[-1] = 7
    return table


@program(
    lambda: (wave(15), wave(15, phase=1.0)),
    lambda: (wave(5, dtype="f4"), wave(3)),
    lambda: (wave(2, dtype="i8"), wave(4, dtype="?")),
    lambda: (wave(0), wave(4)),
)
def zip_and_enumerate(x, y):
    out = np.zeros(max(len(x), len(y)))
    for i, (a, b) in enumerate(zip(x, y)):
        out[i] = a - b * i
    for k, a in enumerate(x, 3):
        out[0] += k * a
    return out


@program(
    lambda: (wave(13),),
    lambda: (wave(4, dtype="f4"),),
    lambda: (wave(3, 2),),
    lambda: (wave(0),),
)
def backwards(x):
    out = x * 0.0
    for item in reversed(x):
        out = out * 0.5 + item
    for i in range(len(x) - 1, 0, -2):
        out[i - 1] += x[i]
    for i in reversed(range(len(x))):
        out[i] *= 2
    return out


@program(
    lambda: ([wave(4, phase=k) for k in range(12)], 0.1),
    lambda: ((wave(2, dtype="f4"), wave(2)), 0.1),
    lambda: ((wave(2, 3), 2.0, wave(3, dtype="i8")), 3),
    lambda: ([], 0.1),
)
def over_list_of_arrays(parts, rate):
    total = 0.0
    for part in parts:
        total = total + rate * part**2
    return total


@program(
    lambda: ([wave(4, phase=k) for k in range(9)], [np.zeros(4) for _ in range(9)]),
    lambda: ((wave(2), wave(3)), (np.ones(2), np.ones(3))),
)
def two_lists_in_step(weights, speeds):
    for w, v in zip(weights, speeds, strict=True):
        v *= 0.9
        v -= 0.1 * w
        w += v
    return weights[0], speeds[-1]


def decay(v, k):
    for _ in range(k):
        v = v * 0.5 + 1.0
    return v


def clipped(v, limit):
    if v > limit:
        return limit
    if v < -limit:
        return -limit
    return v


@program(
    lambda: (wave(12), 11),
    lambda: (wave(3, dtype="f4"), 2),
    lambda: (wave(2), 0),
)
def inlined_functions(x, n):
    for i in range(n):
        x = decay(x, i % 3)
        x[i] = clipped(x[i], 1.5)
    return x


@program(
    lambda: (wave(12), 0.5),
    lambda: (wave(3, dtype="f4"), 0.1),
    lambda: (wave(1), 0.5),
)
def loop_variable_behind(x, r):
    for i in range(len(x)):
        item = x[i]
        if item * item > r:
            break
    return i, item, x[: i + 1] * r


@program(
    lambda: (wave(9), 0),
    lambda: (wave(9), 12),
    lambda: (wave(3, dtype="f4"), -2),
)
def no_turn_at_all(x, n):
    s = 0
    last = "unset"
    for i in range(n):
        s += x[i % len(x)]
        last = i
    while s > 1e9:
        s -= 1
    return s, last


@program(
    lambda: (wave(15),),
    lambda: (wave(5, dtype="f4"),),
    lambda: (wave(4, dtype="i8"),),
)
def with_continue(x):
    total = count = 0
    for value in x:
        if value < 0:
            continue
        if count % 3 == 2:
            count += 2
            continue
        total += value
        count += 1
    return total, count


@program(
    lambda: (wave(16), np.zeros(16)),
    lambda: (wave(5, dtype="f4"), np.zeros(5, "f4")),
    lambda: (wave(5, dtype="i8"), np.zeros(5, "i8")),
)
def elif_and_or(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5 and i % 2 == 0:
            out[i] = 1
        elif v < -0.5 or i == 3:
            out[i] = -1
        elif not -0.2 < v < 0.2:
            out[i] = v if v > 0 else -v
        else:
            out[i] = (v or 5) + (i and v)
    return out


@program(
    lambda: (wave(4) * 9, 0.5),
    lambda: (wave(3, dtype="f4"), 0.1),
)
def while_true(x, tolerance):
    turns = 0
    while True:
        x = x * 0.7
        turns += 1
        if np.abs(x).max() < tolerance:
            break
        if turns > 100:
            return None
    return x, turns


@program(
    lambda: (wave(12), True),
    lambda: (wave(12), False),
    lambda: (wave(0), True),
)
def bound_on_some_ways(x, sure):
    if sure:
        best = 0.0
    for v in x:
        if v > 0.3:
            best = v
            low = -v
    try:
        return best, low
    except UnboundLocalError as error:
        return str(error)


@program(
    lambda: (wave(5, 5), 0.99),
    lambda: (wave(3, 4, dtype="f4"), 2.0),
    lambda: (wave(2, 3, dtype="i8"), 3),
)
def out_of_two_loops(a, limit):
    found = False
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if abs(a[i, j]) > limit:
                found = True
                break
        if found:
            break
    return (i, j) if found else None


@program(
    lambda: (wave(5, 5),),
    lambda: (wave(3, 4, dtype="f4"),),
    lambda: (-np.abs(wave(2, 3)),),
)
def return_from_two_loops(a):
    for i, row in enumerate(a):
        for v in row:
            if v > 0.9:
                return i, v
        a[i] += 1
    return a


@program(
    lambda: (wave(12), 2, 11, 3),
    lambda: (wave(12), 9, -1, -4),
    lambda: (wave(5, dtype="f4"), 0, 5, 1),
    lambda: (wave(5), 3, 3, -1),
    lambda: (wave(5), 3, 4, 0),
)
def any_range(x, start, stop, step):
    s = 0.0
    for i in range(start, stop, step):
        x[i] = s
        s += i * 0.5
    return x, s


@program(
    lambda: (wave(16).reshape(4, 4),),
    lambda: (wave(3, 3, dtype="f4"),),
    lambda: (wave(2, 2, dtype="i8").T,),
)
def views_of_what_is_written(a):
    n = len(a)
    diagonal = np.empty(n)
    for i in range(n):
        row = a[i]
        column = a[:, i]
        row[:] = column[::-1]
        a[i, i] += 1
        diagonal[i] = row[i] + column[0]
    return a, diagonal


@program(
    lambda: (wave(12), 25),
    lambda: (wave(3, dtype="f4"), 2),
    lambda: (wave(3), 0),
)
def kinds_that_change(x, n):
    count = 0
    total = 0
    seen = False
    for i in range(n):
        total += x[i % len(x)]
        seen = seen or total > 0.5
        count += seen
        total = total / 2 if i % 2 else total
    return count, total, seen


@program(
    lambda: (wave(10), 0.5),
    lambda: (wave(4, dtype="f4"), 0.5),
    lambda: (wave(2), -5.0),
)
def state_in_a_tuple(x, rate):
    state = (x, 0.0, 0)
    for _ in range(12):
        now, energy, n = state
        new = now - rate * now**3
        state = (new, energy + (new * new).sum(), n + 1)
    return state


@program(
    lambda: (wave(12, 2), {"rate": 0.1, "size": 3}),
    lambda: (wave(2, 2, dtype="f4"), {"rate": 1, "size": 0}),
)
def options_in_a_dict(x, options):
    for i in range(len(x)):
        if i >= options["size"]:
            x[i] = x[i - 1] * options["rate"]
    return x


class Cell:
    def __init__(self, value, rate):
        self.value = value
        self.rate = rate


@program(
    lambda: (Cell(wave(5), 0.1), 12),
    lambda: (Cell(wave(2, dtype="f4"), 2), 2),
    lambda: (Cell(wave(2), 2), 0),
)
def attributes_of_an_object(cell, n):
    for _ in range(n):
        cell.value[1:] += cell.rate * cell.value[:-1]
    return cell.value.sum()


@program(
    lambda: (wave(12), 3),
    lambda: (wave(4, dtype="f4"), 1),
    lambda: (wave(3), 0),
)
def triangle_of_windows(x, most):
    total = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i, min(i + most, len(x))):
            total[i] += x[i:j].sum()
    return total
