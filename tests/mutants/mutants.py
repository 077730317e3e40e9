"""Faults that the fast suite must notice: one line each, over algorithms, estimators, sets, directions and counting.

A mutant is (file below src/zofw, text as it stands there once, text that is wrong). ``test_mutants.py`` holds the table against
the source, so that a mutant whose line has changed is noticed; ``make mutants`` runs them.
"""

from __future__ import annotations

A = "algorithms/"

MUTANTS: tuple[tuple[str, str, str], ...] = (
    # ZSFW-DVR: the paper's constants, and the two branches
    (
        A + "zsfw_dvr.py",
        "diameter * math.sqrt(p / (S * (dim + 6) ** 3 * T))",
        "diameter * math.sqrt(1 / ((dim + 6) ** 3 * T))",
    ),
    (A + "zsfw_dvr.py", "Constant(1 / math.sqrt(T))", "Constant(1 / T)"),
    (A + "zsfw_dvr.py", "first = p * b / (8 * D)", "first = p * b / D"),
    (A + "zsfw_dvr.py", "first = p * b / (8 * D)", "first = b / (8 * D * p)"),
    (A + "zsfw_dvr.py", "Stich(first, math.ceil(T / 2))", "Stich(first, math.ceil(T / 4))"),
    (A + "zsfw_dvr.py", "4 * p * L**2 / L_hat**2", "4 * p * L**2"),
    (A + "zsfw_dvr.py", "Power(lr, 1.0, cap=1.0)", "Power(lr, 2.0, cap=1.0)"),
    (A + "zsfw_dvr.py", "rng.random() < self.refresh_probability", "rng.random() > self.refresh_probability"),
    (A + "zsfw_dvr.py", "np.array([x, state.before])", "np.array([state.before, x])"),
    (A + "zsfw_dvr.py", "min(1.0, S / task.n)", "min(1.0, 1 / task.n)"),
    (
        A + "zsfw_dvr.py",
        '1.0 if self.initial == "coordinate" else self.law.scale',
        '1.0 if self.initial == "paper" else self.law.scale',
    ),
    # the estimators' recursions
    ("differences.py", "return _plus(None, U @ c, scale)", "return _plus(None, U @ c, -scale)"),
    (
        "differences.py",
        "law.scale(U.dim, U.count) * law.second_moment(U.dim, U.count)",
        "law.second_moment(U.dim, U.count)",
    ),
    ("differences.py", "_plus(g, U @ (c - U.T @ g), step)", "_plus(g, U @ (c + U.T @ g), step)"),
    ("differences.py", "_plus(g, U @ (c[0] - c[1]), scale)", "_plus(g, U @ (c[1] - c[0]), scale)"),
    ("differences.py", "c[0] - (1.0 - rho) * c[1]", "c[0] - rho * c[1]"),
    ("differences.py", "return (1.0 - rho) * g + rho * estimate", "return rho * g + (1.0 - rho) * estimate"),
    # differences and schedules
    ("differences.py", "out /= 2.0 * mu", "out /= mu"),
    ("differences.py", "values[:, :b] - values[:, b:]", "values[:, b:] - values[:, :b]"),
    ("differences.py", "(ahead - 2.0 * base + behind) / mu**2", "(ahead - 2.0 * base + behind) / mu"),
    (
        "schedules.py",
        "2.0 / (2.0 / self.first + t - self.start)",
        "2.0 / (1.0 / self.first + t - self.start)",
    ),
    ("schedules.py", "self.first if t < self.start", "self.first if t <= self.start + 1"),
    ("schedules.py", "(t + self.offset) ** self.exponent", "(t + self.offset + 1) ** self.exponent"),
    # the other methods
    (A + "zo_fw.py", "Scaled(gamma, L / dim)", "Scaled(gamma, L * dim)"),
    (
        A + "zo_sfw.py",
        "averaging=Power(4 / rho, 8, 2 / 3, cap=1.0)",
        "averaging=Power(4 / rho, 8, 1 / 3, cap=1.0)",
    ),
    (A + "zo_sfw.py", "(1 + dim / m) ** (1 / 3)", "(1 + m / dim) ** (1 / 3)"),
    (A + "zo_sfw.py", "radius=Power(2 / c, 8, 1 / 3)", "radius=Power(c / 2, 8, 1 / 3)"),
    (A + "zo_sfw_nonconvex.py", "iterations**-0.75", "iterations**-0.5"),
    (
        A + "acc_szofw.py",
        "1.0 / ((t + 1) * (t + 2)), 1.0 / (t + 2)",
        "1.0 / ((t + 1) * (t + 2)), 1.0 / (t + 1)",
    ),
    (A + "acc_szofw.py", "(1.0 - alpha) * y + alpha * x", "alpha * y + (1.0 - alpha) * x"),
    (A + "acc_szofw.py", "points = np.stack([z, state.before])", "points = np.stack([state.before, z])"),
    (A + "acc_szofw.py", '-0.5 if estimator == "cooge" else -1.5', '-0.5 if estimator == "cooge" else -0.5'),
    (A + "acc_szofw_star.py", "iterations ** (-2 / 3)", "iterations ** (-1 / 3)"),
    (
        A + "zscg.py",
        "M = iterations**2 if convex else iterations",
        "M = iterations if convex else iterations**2",
    ),
    (A + "accelerated_zscg.py", "4.0 * self.smoothness / (t + 1)", "4.0 * self.smoothness / (t + 2)"),
    (A + "fw_black.py", "average(m, q, 1.0 - self.momentum)", "average(m, q, self.momentum)"),
    (A + "fw_black.py", "(3 - momentum) / (1 - momentum)", "(1 - momentum) / (3 - momentum)"),
    (A + "fzfw.py", "if state.t % period == 0:", "if state.t % period == 1:"),
    (A + "fzfw.py", "1 / (diameter * math.sqrt(iterations))", "1 / math.sqrt(iterations)"),
    (A + "fzcgs.py", "1.0 / (3.0 * self.smoothness)", "3.0 / self.smoothness"),
    (
        A + "condg.py",
        "min(1.0, gamma * promised / float(length @ length))",
        "min(1.0, 2 * gamma * promised / float(length @ length))",
    ),
    (A + "condg.py", "slope = g + (w - u) / gamma", "slope = g + (u - w) / gamma"),
    (
        A + "jaguar.py",
        "g = average(g, refine(h, U, c, d / b), eta)",
        "g = average(g, refine(h, U, c, 1.0), eta)",
    ),
    (
        A + "jaguar.py",
        "return cls(1, Power(4.0, 8.0 * dim), **other)",
        "return cls(1, Power(4.0, 4.0 * dim), **other)",
    ),
    (A + "sahu_kar.py", "t % self.period == 0", "t % self.period == 1"),
    (
        A + "zo_svrg.py",
        "m, mu = math.ceil(dim / (31 * rho)), 1 / (dim * math.sqrt(iterations))",
        "m, mu = math.ceil(dim / rho), 1 / (dim * math.sqrt(iterations))",
    ),
    (A + "zpdvr.py", "g = g_w = refine(h, U_w,", "g = g_w = refine(h, U,"),
    (A + "zpdvr.py", "            w = x\n", "            w = w\n"),
    (A + "spsa.py", "0.1 * iterations + 1, 0.602", "0.1 * iterations, 0.602"),
    (A + "projection.py", "task.project(x - a * g)", "task.project(x + a * g)"),
    (A + "projection.py", "return count / (count + task.dim)", "return task.dim / (count + task.dim)"),
    (A + "boosted_zo_sfw.py", "Lambda * (1.0 - lam / length)", "Lambda * (1.0 + lam / length)"),
    (A + "boosted_zo_sfw.py", "r = -g - d", "r = -g + d"),
    (A + "zo_adamm.py", "v_hat = np.maximum(state.v_hat, v)", "v_hat = v"),
    (A + "zo_adamm.py", "x = weighted_projection(task, x - a * m / h, h)", "x = task.project(x - a * m / h)"),
    (A + "zivr_fw.py", "state.mean + d / b * new", "state.mean + new"),
    (A + "zivr_fw.py", "state.mean + new / n", "state.mean + new"),
    (
        A + "horizon.py",
        "1 + (left - first) // rest if left >= first else 0",
        "(left - first) // rest if left >= first else 0",
    ),
    # directions
    ("directions/gaussian.py", "count * (dim + count + 1)", "count * (dim + count)"),
    ("directions/rademacher.py", "count * (dim + count - 1)", "count * (dim + count + 1)"),
    ("directions/coordinate.py", "return dim / count", "return 1.0 / count"),
    # sets
    (
        "sets/l1_ball.py",
        "-self.radius if g.item(i) >= 0 else self.radius",
        "self.radius if g.item(i) >= 0 else -self.radius",
    ),
    ("sets/l1_ball.py", "highest if up > down else lowest", "lowest if up > down else highest"),
    ("sets/simplex.py", "int(g.argmin())", "int(g.argmax())"),
    ("sets/simplex.py", "self.total * 2**0.5 if dim > 1", "self.total if dim > 1"),
    (
        "sets/box.py",
        "np.where(gradient(self, g) >= 0, self.lower, self.upper)",
        "np.where(gradient(self, g) >= 0, self.upper, self.lower)",
    ),
    ("sets/l2_ball.py", "g / np.linalg.norm(g) * -self.radius", "g * -self.radius"),
    ("sets/k_sparse.py", "size.sum() / self.k", "size.sum() / (self.k + 1)"),
    ("sets/lp_ball.py", "(1 / (self.p - 1)), -g)", "(self.p - 1), -g)"),
    ("sets/group_ball.py", "int(np.argmax(self._norms(g)))", "int(np.argmin(self._norms(g)))"),
    (
        "sets/nuclear_ball.py",
        "RankOne(sign * left, sign * right, -self.radius)",
        "RankOne(sign * left, right, -self.radius)",
    ),
    (
        "sets/thresholds.py",
        "rest = total - most[at_most].sum() - least[at_least].sum()",
        "rest = total - most[at_most].sum()",
    ),
    # counting
    ("core/query.py", "cost=k * width * (1 if paired else size)", "cost=k * width * size"),
    ("core/query.py", "cost=k * width * (1 if paired else size)", "cost=width * (1 if paired else size)"),
    ("core/task.py", "self.lmos += 1", "self.lmos += 2"),
    ("core/task.py", "self.budget - self.paid", "self.budget"),
    ("run/session/loop.py", "run.ledger[query.purpose.line] += cost", "run.ledger[query.purpose.line] += 1"),
    ("run/session/loop.py", "query.cost <= self.remaining:", "query.cost < self.remaining:"),
    ("atoms.py", "np.multiply(x, 1.0 - gamma, dtype=np.float64)", "np.multiply(x, 1.0, dtype=np.float64)"),
    (A + "frank_wolfe.py", "float(w[i] / (1.0 - w[i]))", "float(w[i])"),
)
