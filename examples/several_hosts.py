"""One run on several hosts, one of which is cut off in the middle.

The hosts are network namespaces of this machine: each has its own address and its own cable to a switch, and shares
nothing else with the others as far as the network is concerned. Needs root and iproute2; says so and stops elsewhere.

    sudo python examples/several_hosts.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import zofw

HEAD, HOSTS, CUT = "zofw-head", ("zofw-a", "zofw-b", "zofw-c"), "zofw-b"
ADDRESS = {HEAD: "10.77.0.1"} | {host: f"10.77.0.{11 + k}" for k, host in enumerate(HOSTS)}
SCHEDULER = f"tcp://{ADDRESS[HEAD]}:8786"
IMPATIENT = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
}


class Plant:
    """A simulation that takes 20 ms."""

    def __call__(self, x: np.ndarray, i: int) -> float:
        time.sleep(0.02)
        return float(((x - np.cos(np.arange(len(x)) + i)) ** 2).sum())


def run(executor: object = None, callback: object = None, checkpoint: Path | None = None) -> zofw.Result:
    f = zofw.problems.BlackBox(Plant() if executor else lambda x, i: quick(x, i), dim=30, n=8)
    return zofw.minimize(
        f, zofw.L1Ball(3.0), method="zsfw-dvr", max_iter=25, rng=0, diagnose=0,
        workers=executor, callback=callback, checkpoint=checkpoint, resume="auto" if checkpoint else False,
    )  # fmt: skip


def quick(x: np.ndarray, i: int) -> float:
    return float(((x - np.cos(np.arange(len(x)) + i)) ** 2).sum())


def client(folder: Path) -> None:
    """What the user runs, on the first host."""
    from distributed import Client

    with Client(SCHEDULER, timeout=60) as hosts:
        hosts.wait_for_workers(len(HOSTS), timeout=120)
        began = time.monotonic()

        def tell(intermediate_result: object) -> None:
            workers = len(hosts.scheduler_info(n_workers=-1)["workers"])
            nit = intermediate_result.nit
            print(f"iteration {nit:2d} after {time.monotonic() - began:5.1f} s, {workers} hosts", flush=True)

        result = run(hosts, tell, folder / "run.npz")
        result.save(folder / "result.npz")


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, stderr=None if check else subprocess.DEVNULL)


def build() -> None:
    """Four hosts and a switch."""
    for host in (HEAD, *HOSTS):
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
    ip("-n", HEAD, "link", "add", "switch", "type", "bridge")
    ip("-n", HEAD, "addr", "add", f"{ADDRESS[HEAD]}/24", "dev", "switch")
    ip("-n", HEAD, "link", "set", "switch", "up")
    for host in HOSTS:
        ip("-n", HEAD, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("-n", HEAD, "link", "set", host, "master", "switch", "up")
        ip("-n", host, "addr", "add", f"{ADDRESS[host]}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "eth0", "up")


def start(host: str, *command: str, **settings: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", host, sys.executable, *command],
        env=os.environ | IMPATIENT,
        text=True,
        **settings,
    )


def main() -> int:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        print("skipped: network namespaces need root and iproute2")
        return 77
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            build()
            module = "distributed.cli.dask_scheduler"
            processes.append(
                start(
                    HEAD, "-m", module, "--host", ADDRESS[HEAD], "--port", "8786", "--no-dashboard", **quiet
                )
            )
            module = "distributed.cli.dask_worker"
            for host in HOSTS:
                words = (
                    "-m",
                    module,
                    SCHEDULER,
                    "--host",
                    ADDRESS[host],
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                )
                processes.append(start(host, *words, "--local-directory", folder, **quiet))
            user = start(HEAD, __file__, "client", folder, stdout=subprocess.PIPE)
            processes.append(user)
            for line in user.stdout or ():
                print(line, end="")
                if line.startswith("iteration  3"):
                    ip("-n", HEAD, "link", "set", CUT, "down")
                    print(f"--- the cable of {CUT} is pulled")
                if line.startswith("iteration 15"):
                    ip("-n", HEAD, "link", "set", CUT, "up")
                    print("--- and put back")
            if user.wait() != 0:
                return 1
            there, here = zofw.Result.load(Path(folder) / "result.npz"), run()
            same = bool(np.array_equal(there.x, here.x)) and there.ledger == here.ledger
            print(
                f"{there.nfev} evaluations counted, {there.nrecomputed} made again for the host that was cut off"
            )
            print(f"the same bits and counts as in one process: {same}")
            return 0 if same else 1
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()
            for host in (HEAD, *HOSTS):
                subprocess.run(f"ip netns pids {host} | xargs -r kill -9", shell=True, check=False)
                ip("netns", "del", host, check=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(Path(sys.argv[2]))
    else:
        sys.exit(main())
