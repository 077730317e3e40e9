"""``python -m benchmarks.run [--json] [--quick]``: time and memory of zofw as ratios to its transcriptions."""

from __future__ import annotations

import argparse
import json
import os
import sys

import numpy as np

import zofw
from benchmarks.cases import CASES, dvr, samples
from benchmarks.measure import peak_in_child, peak_memory, take_turns
from zofw.problems import Logistic
from zofw_paper.data import DataError


def measure(case, *, quick):
    """One line of the table."""
    ours = case.ours()
    rounds = max(3, case.rounds // 5) if quick else case.rounds
    timing = take_turns(
        case.theirs(), ours, rounds=rounds, repeat_theirs=case.repeats[0], repeat_ours=case.repeats[1]
    )
    row = {"case": case.name, "least": case.least, "oracle": ours.share(3 * case.repeats[1])} | timing.row()
    ours.check_work()
    if case.memory is not None:
        theirs, mine = (peak_in_child(case.name, side) for side in ("theirs", "ours"))
        row |= {
            "memory": theirs / mine,
            "memory_theirs": theirs,
            "memory_ours": mine,
            "memory_least": case.memory,
        }
    return row


HEADER = (
    "A case; seconds of the transcription and of zofw (medians); how many times faster zofw is, by wall clock (with quartiles)\n"
    "and by processor time of all threads; what is wanted; the share of zofw's time that is spent evaluating functions."
)


def line(row):
    """A row for reading."""
    if "skipped" in row:
        return f"{row['case']:<30} left out: {row['skipped']}"
    low, ratio, high = row["ratio"]
    text = (
        f"{row['case']:<30} {row['theirs'][1] * 1e3:>10.3f} ms {row['ours'][1] * 1e3:>10.3f} ms "
        f"{ratio:>7.1f}x [{low:.1f}, {high:.1f}]  cpu {row['cpu'][1]:.1f}x  wanted {row['least']:g}x  oracle {row['oracle']:.0%}"
    )
    if "memory" in row:
        text += f"  memory {row['memory_theirs'] / 1e6:.1f} / {row['memory_ours'] / 1e6:.1f} MB = {row['memory']:.0f}x"
    return text


def measure_limits(quick, *, show):
    """Growth, threads, and the machine's limits."""
    from benchmarks import limits

    def rcv1():
        return Logistic(*samples("rcv1-subsets"))

    def million():
        return limits.random_problem(1_000_000)

    found = {
        "machine": limits.machine(),
        "growth": limits.growth(quick=quick),
        "threads": {},
    }
    large = {
        "rcv1 difference, Rademacher": (rcv1, dvr(400, zofw.directions.Rademacher(), False), 20),
        "rcv1 difference, Gaussian": (rcv1, dvr(400, zofw.directions.Gaussian(), False), 3),
        "rcv1 refresh, Rademacher": (rcv1, dvr(400, zofw.directions.Rademacher(), True), 1),
        "d = 10⁶ difference, Rademacher": (million, dvr(400, zofw.directions.Rademacher(), False), 1),
    }
    for name, (problem, method, repeat) in large.items():
        try:
            found["threads"][name] = limits.threads(
                problem(), method, rounds=3 if quick else 9, repeat=repeat
            )
        except DataError as error:
            found["threads"][name] = {"skipped": str(error)}
    try:
        from benchmarks.attack import network_share

        found["attack"] = network_share(6 if quick else 30)
    except (ImportError, DataError) as error:
        found["attack"] = {"skipped": str(error)}
    if show:
        print(f"MNIST attack: {found['attack']}")
        for name, rate in found["machine"].items():
            print(f"{name:<40} {rate:8.2f}")
        grown = found["growth"]
        spent = ", ".join(f"d = {row['d']:.0e}: {row['seconds'] * 1e3:.2f} ms" for row in grown["rows"])
        print(
            f"growth in d·b: exponent {grown['exponent']:.3f}, steepest {grown['steepest']:.3f} "
            f"(of processor time {grown['steepest_cpu']:.3f}; {spent})"
        )
        for name, row in found["threads"].items():
            if "skipped" in row:
                print(f"two threads, {name:<30} left out: {row['skipped']}")
                continue
            low, middle, high = row["ratio"]
            print(
                f"two threads, {name:<30} {middle:.2f}x [{low:.2f}, {high:.2f}], best {row['best']:.2f}x, "
                f"bare generator {row['machine'][1]:.2f}x, same bits: {row['same']}"
            )
    return found


UNITS = "seconds, bytes; triples are the lower quartile, the median and the upper quartile"
GROWTH, THREADS, SHARE = 1.05, 1.6, 0.9


def short(rows, limits):
    """What does not reach its figure, a sentence each; medians decide."""
    told = [
        f"{row['case']}, {row['ratio'][1]:.2f} times as fast, {row['least']:g} wanted"
        for row in rows
        if "ratio" in row and row["ratio"][1] < row["least"]
    ]
    told += [
        f"{row['case']}, memory by a factor of {row['memory']:.1f}, {row['memory_least']:g} wanted"
        for row in rows
        if row.get("memory", np.inf) < row.get("memory_least", 0.0)
    ]
    told += [
        f"two threads, {name}, {row['ratio'][1]:.2f} times as fast, {THREADS} wanted"
        for name, row in limits.get("threads", {}).items()
        if "ratio" in row and row["ratio"][1] < THREADS
    ]
    if limits.get("growth", {}).get("exponent", 0.0) > GROWTH:
        told.append(f"growth in d·b, exponent {limits['growth']['exponent']:.3f}, at most {GROWTH} wanted")
    if limits.get("attack", {}).get("share", 1.0) < SHARE:
        told.append(
            f"MNIST attack, {limits['attack']['share']:.0%} of the time in the network, {SHARE:.0%} wanted"
        )
    return told


def peak(name, side):
    """Peak memory of one step of one side, in this process."""
    case = next(case for case in CASES if case.name == name)
    step = getattr(case, side)()
    if side == "ours":
        step()
    return peak_memory(step)


def main(arguments=None):
    """Measure every case whose data are there; returns 1 if a figure falls short of what is wanted, and says which."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--peak", nargs=2, metavar=("CASE", "SIDE"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    os.environ.setdefault("ZOFW_KERNELS", "numba")
    if options.peak:
        print(json.dumps({"peak": peak(*options.peak)}))
        return 0
    limits = {} if options.only else measure_limits(options.quick, show=not options.json)
    rows = []
    if not options.json:
        print(HEADER)
    for case in CASES:
        if options.only in case.name:
            try:
                rows.append(measure(case, quick=options.quick))
            except DataError as error:
                rows.append({"case": case.name, "least": case.least, "skipped": str(error)})
            if not options.json:
                print(line(rows[-1]), flush=True)
    if options.json:
        print(json.dumps({"cases": rows} | limits | {"units": UNITS, "short": short(rows, limits)}, indent=2))
    for sentence in short(rows, limits) if not options.json else ():
        print(f"Falls short: {sentence}")
    return int(bool(short(rows, limits)))


if __name__ == "__main__":
    sys.exit(main())
