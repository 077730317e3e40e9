"""
Calibrating an epidemic model
=============================

A susceptible-exposed-infectious-removed model of a town, solved by SciPy as a stiff system. Weekly reports give 26 residuals a run, and
the simulator may be called sixty times. Two transmission rates, one before and one after a lockdown, the incubation and the infectious
period and the initial cases are to be found, each in its own units.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import zofw

population, lockdown, weeks = 250_000, 45.0, np.arange(7.0, 183.0, 7.0)
names = ["contacts/day", "after lockdown", "incubation/days", "infectious/days", "first cases"]
lower, upper = np.array([0.1, 0.02, 1.0, 2.0, 1.0]), np.array([1.5, 0.6, 10.0, 20.0, 300.0])


def infectious(p):
    """People who are infectious at the end of each week."""

    def rates(t, y):
        susceptible, exposed, ill = y
        new = (p[0] if t < lockdown else p[1]) * susceptible * ill / population
        return [-new, new - exposed / p[2], exposed / p[2] - ill / p[3]]

    y0 = [population - p[4], p[4], 0.0]
    return solve_ivp(rates, (0, weeks[-1]), y0, method="LSODA", t_eval=weeks, max_step=2.0).y[2]


rng = np.random.default_rng(4)
truth = np.array([0.55, 0.14, 4.0, 7.0, 40.0])
reports = infectious(truth) * np.exp(0.05 * rng.standard_normal(len(weeks)))
reports[9] *= 3  # a week of late reports

# %%
# Reports vary by a few per cent, so residuals are logarithms. ``loss="soft_l1"`` counts the outlier less than its square.


def residuals(p):
    return np.log1p(infectious(p)) - np.log1p(reports)


start = np.array([0.4, 0.2, 5.0, 10.0, 10.0])
fit = zofw.least_squares(
    residuals, bounds=(lower, upper), x0=start, loss="soft_l1", f_scale=0.1, budget=60, rng=0
)
errors = np.sqrt(np.diag(fit.covariance))
for name, value, error, true in zip(names, fit.x, errors, truth, strict=True):
    print(f"{name:16s} {value:8.3f} ± {error:.3f}   (true: {true})")
print(f"{fit.nfev} simulations. {fit.message}")

# %%
# The Jacobian of the model shows without further simulations how far the errors of the parameters move the curve.

band = 2 * np.sqrt(np.einsum("ij,jk,ik->i", fit.jac, fit.covariance, fit.jac))
curve = infectious(fit.x)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.fill_between(weeks, curve * np.exp(-band), curve * np.exp(band), color="C0", alpha=0.3)
left.plot(weeks, curve, label="fit, two standard errors")
left.plot(weeks, reports, "o", color="C1", label="reports")
left.set_yscale("log")
left.set_xlabel("day")
left.set_ylabel("infectious")
left.legend(frameon=False)
right.plot(fit.trace.queries, fit.trace.objective)
right.set_yscale("log")
right.set_xlabel("simulations")
right.set_ylabel("cost")
plt.show()
