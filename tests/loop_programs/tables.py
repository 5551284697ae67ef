"""Tables filled by rules, sorting and searching, integers and bits."""

from __future__ import annotations

import numpy as np

from loop_programs.registry import program, wave

BITS = np.array([0x12, 0xFF, 0x00, 0x7A, 0x31, 0x80, 0x55, 0x21, 0x99, 0x04, 0x61], "u1")


@program(
    lambda: (np.arange(10) * 3 % 4, np.arange(7) * 5 % 4),
    lambda: (np.array([1, 2], "i4"), np.array([2, 1, 2], "i4")),
    lambda: (np.array([], int), np.array([1, 2])),
)
def edit_distance_table(a, b):
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    table[:, 0] = np.arange(n + 1)
    table[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[n, m], table


@program(
    lambda: (np.arange(9) * 3 % 4, np.arange(8) * 5 % 4),
    lambda: (np.array([1, 2], "u1"), np.array([2, 1, 2], "u1")),
    lambda: (np.array([1, 2]), np.array([], int)),
)
def edit_distance_two_rows(a, b):
    above = np.arange(len(b) + 1)
    row = np.zeros_like(above)
    for i in range(len(a)):
        row[0] = i + 1
        for j in range(len(b)):
            best = above[j] + (a[i] != b[j])
            if above[j + 1] + 1 < best:
                best = above[j + 1] + 1
            if row[j] + 1 < best:
                best = row[j] + 1
            row[j + 1] = best
        above, row = row, above
    return above[-1]


@program(
    lambda: (np.arange(10) * 3 % 5, np.arange(8) * 2 % 5),
    lambda: (wave(4, dtype="i4"), wave(3, dtype="i4")),
    lambda: (np.zeros(0, int), np.zeros(2, int)),
)
def longest_common_part(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    i, j = len(a), len(b)
    picked = np.zeros(len(a), bool)
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            picked[i - 1] = True
            i -= 1
            j -= 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return table[-1, -1], picked


@program(
    lambda: (np.array([3, 4, 2, 5, 1, 6, 2, 7, 3, 4]), np.arange(10.0) + 1, 12),
    lambda: (np.array([2, 1], "i4"), np.array([3, 4], "f4"), 3),
    lambda: (np.array([5]), np.array([1]), 0),
)
def knapsack_by_element(weights, values, room):
    best = np.zeros(room + 1)
    for i in range(len(weights)):
        for c in range(room, weights[i] - 1, -1):
            other = best[c - weights[i]] + values[i]
            if other > best[c]:
                best[c] = other
    return best[room]


@program(
    lambda: ([3, 4, 2, 5, 1, 6, 2, 7, 3, 4], wave(10) + 2, 12),
    lambda: ([2, 1], wave(2, dtype="f4"), 3),
    lambda: ([1, 9], wave(2), 3),
)
def knapsack_by_slice(weights, values, room):
    best = np.zeros(room + 1)
    for weight, value in zip(weights, values, strict=True):
        best[weight:] = np.maximum(best[weight:], best[: room + 1 - weight] + value)
    return best


@program(
    lambda: (np.array([1, 3, 4]), 14),
    lambda: (np.array([2], "i4"), 5),
    lambda: (np.array([2]), 0),
)
def fewest_coins(coins, amount):
    best = np.full(amount + 1, amount + 1)
    best[0] = 0
    for total in range(1, amount + 1):
        for coin in coins:
            if coin <= total and best[total - coin] + 1 < best[total]:
                best[total] = best[total - coin] + 1
    return best[amount] if best[amount] <= amount else -1


@program(lambda: (BITS,), lambda: (BITS[:2],), lambda: (BITS[:0],))
def crc_of_bytes(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc >>= 1
    return crc ^ 0xFFFFFFFF


@program(lambda: (BITS,), lambda: (BITS[:3],), lambda: (BITS[:0],))
def crc_of_unsigned(data):
    crc = np.uint32(0xFFFFFFFF)
    one = np.uint32(1)
    for i in range(data.shape[0]):
        crc = crc ^ np.uint32(data[i])
        for _ in range(8):
            if crc & one:
                crc = (crc >> one) ^ np.uint32(0xEDB88320)
            else:
                crc = crc >> one
    return crc


@program(lambda: (30,), lambda: (12,), lambda: (1,))
def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    return np.flatnonzero(prime)


@program(
    lambda: (wave(11),),
    lambda: (wave(5, dtype="i4"),),
    lambda: (wave(6, dtype="f4")[::-1],),
    lambda: (wave(0),),
)
def bubble_sort(x):
    n = len(x)
    for i in range(n):
        moved = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                moved = True
        if not moved:
            break
    return x


@program(
    lambda: (wave(12),),
    lambda: (wave(5, dtype="i8"),),
    lambda: (wave(4, dtype="f4"),),
    lambda: (wave(1),),
)
def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x


@program(
    lambda: (np.sort(wave(20)), 0.3),
    lambda: (np.sort(wave(5, dtype="f4")), 9.0),
    lambda: (np.arange(8), 3),
    lambda: (wave(0), 0.3),
)
def binary_search(x, value):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@program(
    lambda: (wave(20), -1.0, 1.0, 5),
    lambda: (wave(6, dtype="f4"), -0.5, 0.5, 3),
    lambda: (wave(0), -1.0, 1.0, 2),
)
def histogram_by_loop(x, low, high, bins):
    counts = np.zeros(bins, int)
    width = (high - low) / bins
    for value in x:
        k = int((value - low) / width)
        if 0 <= k < bins:
            counts[k] += 1
    return counts


@program(
    lambda: (np.array([1, 1, 2, 2, 2, 3, 1, 1, 1, 1, 5, 5]),),
    lambda: (np.array([2.0, 2.0], "f4"),),
    lambda: (np.array([7]),),
)
def run_lengths(x):
    values = np.zeros_like(x)
    counts = np.zeros(len(x), int)
    k = 0
    values[0] = x[0]
    for item in x:
        if item != values[k]:
            k += 1
            values[k] = item
        counts[k] += 1
    return values[: k + 1], counts[: k + 1]


@program(lambda: (27,), lambda: (1,), lambda: (np.int64(97),))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@program(
    lambda: (np.array([48, 36, 120, 84]), 252),
    lambda: (np.array([7], "i4"), 3),
    lambda: (np.array([], int), 5),
)
def gcd_of_all(x, start):
    g = start
    for value in x:
        while value:
            g, value = value, g % value
    return g


@program(lambda: (20,), lambda: (1,), lambda: (0,))
def fibonacci(n):
    out = np.zeros(n, dtype=np.int64)
    a, b = 0, 1
    for i in range(n):
        out[i] = a
        a, b = b, a + b
    return out, a


@program(
    lambda: (np.array([2, 1, 3, 4, 1, 2]), 3),
    lambda: (np.array([5, 5], "i4"), 1),
    lambda: (np.zeros(0, int), 1),
)
def prefix_counts(x, value):
    counts = np.zeros(len(x) + 1, int)
    for i, item in enumerate(x):
        counts[i + 1] = counts[i] + (1 if item >= value else 0)
    return counts


@program(
    lambda: (np.abs(wave(4, 5, dtype="i8")),),
    lambda: (np.abs(wave(3, 3, dtype="f4")),),
    lambda: (wave(1, 1),),
)
def cheapest_path(cost):
    n, m = cost.shape
    total = np.empty_like(cost)
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                before = 0
            elif i == 0:
                before = total[i, j - 1]
            elif j == 0:
                before = total[i - 1, j]
            else:
                before = min(total[i - 1, j], total[i, j - 1])
            total[i, j] = cost[i, j] + before
    return total[-1, -1]
