"""Growth, threads, and the distance to what the machine can do."""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp

import zofw
from benchmarks.cases import Ours, dvr
from benchmarks.measure import quartiles, seconds
from zofw.kernels import entries, jit
from zofw.kernels.threads import spread
from zofw.problems import Logistic


def random_problem(d, rows=200, entries=75):
    """Sparse logistic samples in any dimension."""
    rng = np.random.default_rng(d)
    columns = np.sort(rng.integers(d, size=(rows, entries)), axis=1).ravel()
    Z = sp.csr_array(
        (rng.standard_normal(rows * entries), columns, np.arange(rows + 1) * entries), shape=(rows, d)
    )
    return Logistic(Z, rng.choice([-1.0, 1.0], rows))


def growth(*, quick):
    """Time and memory of a difference iteration from d = 10⁴ to 10⁷; the exponent of a fit to d·b."""
    b, rows = 128, []
    for d in (10_000, 100_000, 1_000_000, 10_000_000):
        ours = Ours(random_problem(d), dvr(b, zofw.directions.Rademacher(), False))
        ours()
        ours()
        ours.check_work()
        wall, cpu = np.min([seconds(ours, 1) for _ in range(3 if quick else 7)], axis=0)
        rows.append({"d": d, "b": b, "seconds": float(wall), "cpu": float(cpu)})
    size, spent, busy = np.log([[row["d"] * b, row["seconds"], row["cpu"]] for row in rows]).T
    steepest, steepest_cpu = (float((np.diff(side) / np.diff(size)).max()) for side in (spent, busy))
    exponent = float(np.polyfit(size, spent, 1)[0])
    return {"rows": rows, "exponent": exponent, "steepest": steepest, "steepest_cpu": steepest_cpu}


def threads(problem, method, *, rounds, repeat):
    """One thread against two: the ratio of their times, and whether their iterates are the same bits.

    ``repeat`` iterations come in a row and nobody sleeps between, as in a run: a thread that has slept takes longer to wake than a
    short iteration to finish. ``machine`` is the same ratio for the bare generator in the same rounds: what two threads can gain
    here and now, with whatever else the machine is doing.
    """
    runs = {count: Ours(problem, method) for count in (1, 2)}
    spent, alone = {1: [], 2: []}, {1: [], 2: []}
    for _ in range(rounds + 1):
        for count, run in runs.items():
            os.environ["ZOFW_THREADS"] = str(count)
            spent[count].append(seconds(run, repeat)[0])
            alone[count].append(seconds(bare_pieces, 1)[0])
    del os.environ["ZOFW_THREADS"]
    ratio, machine = (np.array(side[1][1:]) / np.array(side[2][1:]) for side in (spent, alone))
    same = np.array_equal(runs[1].session.x, runs[2].session.x) and np.array_equal(
        runs[1].session.state.g, runs[2].session.state.g
    )
    best = min(spent[1][1:]) / min(spent[2][1:])
    runs[1].check_work()
    return {"ratio": quartiles(ratio), "machine": quartiles(machine), "best": best, "same": bool(same)}


def bare_pieces():
    """Words of the bare generator in eight pieces over the threads: about ten milliseconds on one."""
    spread(lambda start, stop: bare(np.uint64(start), (stop - start) << 20), 8, 1, 10_000_000)


@jit.kernel("uint64(uint64, int64)")
def bare(key, n):
    """n words of the generator, drawn and forgotten."""
    drawn, streams, total = np.empty(64, np.uint64), np.empty(64, np.uint64), np.uint64(0)
    entries.lane_streams(key, 0, streams)
    for w in range(n // 64):
        entries.lane_words(streams, w, drawn)
        total ^= drawn[w % 64]
    return total


def machine():
    """Plain copy and bare generator, beside what U c, Z_S U and the refresh reach; one thread."""
    os.environ["ZOFW_THREADS"] = "1"
    source, target = np.ones(1 << 24), np.empty(1 << 24)
    copy = min(seconds(lambda: np.copyto(target, source), 1)[0] for _ in range(7))
    words = 1 << 24
    alone = min(seconds(lambda: bare(np.uint64(1), words), 1)[0] for _ in range(7))
    d, b = 1_000_000, 400
    c = np.random.default_rng(0).standard_normal(b)
    rates = {"copy, GB/s": 2 * 8 * len(source) / copy / 1e9, "bare words, 10⁹/s": words / alone / 1e9}
    for name, law, per_row in (
        ("Rademacher", zofw.directions.Rademacher(), -(-b // 64)),
        ("Gaussian", zofw.directions.Gaussian(), b // 2),
    ):
        U = law.draw(np.random.default_rng(0), d, b)
        spent = min(seconds(lambda U=U: U @ c, 1)[0] for _ in range(3))
        rates[f"U c {name}, words 10⁹/s"] = d * per_row / spent / 1e9
        rates[f"U c {name}, entries 10⁹/s"] = d * b / spent / 1e9
        rates[f"U c {name}, as stored bytes GB/s"] = 8 * d * b / spent / 1e9
    del os.environ["ZOFW_THREADS"]
    return rates
