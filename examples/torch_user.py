"""Merge two networks with weights that sum to one, for accuracy itself, which has no gradient.

Needs, in a clone: pip install '.[torch,data]'
"""

import numpy as np
import torch
from sklearn.datasets import load_digits

import zofw

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)


def trained(chosen):
    """A small network that has seen some of the classes only."""
    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    net.load_state_dict(shared)
    optimiser = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(X[chosen]), y[chosen]).backward()
        optimiser.step()
    return net.state_dict()


shared = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)).state_dict()
parents = [trained(torch.arange(1000)[y[:1000] < 6]), trained(torch.arange(1000)[y[:1000] > 3]), shared]
merged = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
held_out = slice(1000, 1400)


def loss(w):
    """Cross-entropy of the weighted mean of all parameters on held-out digits; nothing is differentiated."""
    with torch.no_grad():
        merged.load_state_dict(
            {k: sum(float(a) * p[k] for a, p in zip(w, parents, strict=True)) for k in shared}
        )
        return float(torch.nn.functional.cross_entropy(merged(X[held_out]), y[held_out]))


# one weight for each parent; the runs of the parents alone are known, and cost nothing again
known = np.eye(3), [loss(w) for w in np.eye(3)]
result = zofw.minimize(loss, zofw.Simplex(), known=known, budget=200, rng=0, inside=True)
final = loss(result.x)

assert result.nfev <= 200 and final < min(known[1])
print("weights:", result.x.round(3), f"loss {final:.3f}; parents alone {np.round(known[1], 3)}")
