"""Parts of a problem on the workers of a dask cluster: each where it belongs, the same bits, and built again when lost."""

from __future__ import annotations

import functools
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import zofw
from zofw.problems import BlackBox, LeastSquares, Sharded

distributed = pytest.importorskip("distributed", reason="needs dask: pip install '.[cluster]'")
pytestmark = pytest.mark.filterwarnings("ignore")

PARTS, ROWS, DIM = 4, 50, 12


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        client.register_plugin(FindTests(str(Path(__file__).parent)))
        yield client


class FindTests(distributed.WorkerPlugin):
    """Workers find the tests' modules, those that start later as well."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker):
        import sys

        sys.path.insert(0, self.folder)


def rows(number: int) -> LeastSquares:
    rng = np.random.default_rng(number)
    return LeastSquares(rng.standard_normal((ROWS, DIM)), rng.standard_normal(ROWS))


def load(folder: Path, number: int) -> LeastSquares:
    """A part that writes down which process has built it."""
    with (folder / f"part-{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return rows(number)


def built(folder: Path) -> dict[int, list[int]]:
    return {
        number: [int(line) for line in (folder / f"part-{number}").read_text().split()]
        for number in range(PARTS)
    }


def loaded(folder: Path, **settings) -> Sharded:
    loaders = [functools.partial(load, folder, number) for number in range(PARTS)]
    return Sharded(loaders, sizes=[ROWS] * PARTS, dim=DIM, **settings)


def run(problem, **settings):
    settings = {"method": "zsfw-dvr", "budget": 30_000, "max_iter": 6, "rng": 1} | settings
    return zofw.minimize(problem, zofw.L1Ball(1.0), **settings)


def here() -> Sharded:
    return Sharded([rows(number) for number in range(PARTS)])


def same(result, whole) -> None:
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger
    np.testing.assert_equal(result.fun, whole.fun)


@pytest.mark.parametrize("method", ["zsfw-dvr", "explore-correct", "acc-szofw", "fzfw"])
def test_the_same_bits_as_in_one_process(method, client):
    whole = run(here(), method=method)
    assert np.isfinite(whole.fun)
    same(run(here(), method=method, workers=client), whole)


def test_parts_are_built_where_they_live_and_nowhere_else(client, tmp_path):
    for name, copies in (("one", 1), ("two", 2)):
        folder = tmp_path / name
        folder.mkdir()
        same(run(loaded(folder, copies=copies), workers=client), run(here()))
        pids, workers = built(folder), set(client.run(os.getpid).values())
        assert all(len(holders) == len(set(holders)) == copies for holders in pids.values())
        assert {pid for holders in pids.values() for pid in holders} == workers


def test_a_part_that_lived_on_a_dead_worker_is_built_again(client, tmp_path):
    whole, killed = run(here(), max_iter=12), []

    def reap(intermediate_result):
        if intermediate_result.nit == 3:
            victim = built(tmp_path)[0][0]
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    result = run(loaded(tmp_path), max_iter=12, workers=client, callback=reap)
    same(result, whole)
    pids = built(tmp_path)
    assert killed[0] == pids[0][0] and len(pids[0]) >= 2 and pids[0][-1] != killed[0]
    assert all(len(holders) == 1 for holders in pids.values() if holders[0] != killed[0])


def test_parts_that_were_sent_are_sent_again(client):
    def reap(intermediate_result):
        if intermediate_result.nit == 2:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    same(run(here(), workers=client, callback=reap), run(here()))


def test_a_checkpoint_of_a_run_in_parts_goes_on_elsewhere(client, tmp_path):
    path = tmp_path / "run.npz"
    run(loaded(tmp_path), max_iter=3, checkpoint=path, workers=client, diagnose=0)
    before = built(tmp_path)
    result = zofw.resume(path, here(), max_iter=6)
    same(result, run(here(), diagnose=0))
    assert os.getpid() not in {pid for holders in before.values() for pid in holders}


def test_errors_on_a_worker(client):
    def fails(x, i):
        if i == 2:
            raise ZeroDivisionError
        return 1.0

    def missing():
        raise FileNotFoundError("rows-3.npz")

    f = Sharded([BlackBox(lambda x, i: 1.0, dim=3, n=4), BlackBox(fails, dim=3, n=5)])
    with pytest.raises(zofw.EvaluationError, match="In part 1, which has components 4 to 8") as error:
        run(f, workers=client, diagnose=0, method="fzfw", budget=300)
    assert error.value.component == 6
    with pytest.raises(zofw.run.ExecutorError, match="FileNotFoundError: rows-3"):
        run(Sharded([missing], sizes=[3], dim=3), workers=client, diagnose=0, budget=300)


def test_a_pool_builds_what_it_touches(tmp_path):
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as pool:
        same(run(loaded(tmp_path), workers=pool), run(here()))
    assert os.getpid() not in {pid for holders in built(tmp_path).values() for pid in holders}
