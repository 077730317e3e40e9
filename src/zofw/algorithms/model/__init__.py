"""Parts that the three defaults share: noise of values, certificate, line search, quadratic over atoms, mixture of atoms."""
