"""The share of an attack's time that its network takes."""

from __future__ import annotations

import time

import numpy as np

import zofw
from zofw.problems import evaluate
from zofw_paper import data, targets


def network_share(iterations):
    """Wall time inside the network over that of whole iterations of ZSFW-DVR on MNIST."""
    network = targets.mnist_carlini()
    images = data.load("mnist")
    ones = np.flatnonzero(images.labels == 1)[:100]
    inside, begun = [0.0], [0.0]
    network.register_forward_pre_hook(lambda *_: begun.__setitem__(0, time.perf_counter()))
    network.register_forward_hook(
        lambda *_: inside.__setitem__(0, inside[0] + time.perf_counter() - begun[0])
    )
    problem = zofw.problems.UniversalAttack(network, images.centred()[ones], images.labels[ones])
    method = zofw.ZSFWDVR(
        batch_size=10, directions=20, refresh_probability=0.1, radius=1e-2, law=zofw.directions.Rademacher()
    )
    session = zofw.Session(
        zofw.L2Ball(10.0),
        dim=problem.dim,
        n=problem.n,
        method=method,
        rng=0,
        max_iter=iterations + 2,
        diagnose=0,
    )
    while session.nit < 2:
        query = session.ask()
        session.tell(query, evaluate(problem, query))
    inside[0], begin = 0.0, time.perf_counter()
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
    total = time.perf_counter() - begin
    return {"share": inside[0] / total, "seconds": total / iterations}
