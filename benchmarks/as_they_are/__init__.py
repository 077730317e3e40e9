"""Functions as they are: real simulators, units, noise, steps, walls, many valleys, few components, raw data; zofw next to ten rivals.

    python -m benchmarks.as_they_are run --out benchmarks/as_they_are/results.csv [--draw 1] [--only …]      # resumable
    python -m benchmarks.as_they_are table --out docs/…

Every problem is a function of a box. Rivals get the box scaled to the unit cube, which helps them; zofw gets it as it is. The budgets are
10, 30 and 100 times d + 1 evaluations of the whole function. A problem with walls returns inf there to zofw (``worse=np.inf``), and to
rivals a value above all that they have seen.
"""
