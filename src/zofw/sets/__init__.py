"""Convex sets, each reached through its linear minimisation oracle; one set, one file.

`SETS` maps names to classes. `as_set` makes a set of what the user has, `check_set` tests one, and `can_project`
and `can_clip` tell whether a set has a Euclidean projection and exact members.
"""

from zofw.sets.birkhoff import Birkhoff
from zofw.sets.box import Box
from zofw.sets.capped_simplex import CappedSimplex
from zofw.sets.check import Report, check_set
from zofw.sets.convex_hull import ConvexHull
from zofw.sets.custom import Custom, can_clip, can_project
from zofw.sets.given import SetLike, as_set, without_dictionaries
from zofw.sets.group_ball import GroupBall
from zofw.sets.k_sparse import KSparse
from zofw.sets.l1_ball import L1Ball
from zofw.sets.l2_ball import L2Ball
from zofw.sets.linf_ball import LinfBall
from zofw.sets.lp_ball import LpBall
from zofw.sets.nuclear_ball import NuclearBall
from zofw.sets.polytope import Polytope
from zofw.sets.product import Product
from zofw.sets.protocol import SETS, Region
from zofw.sets.simplex import Simplex
from zofw.sets.spectral_ball import SpectralBall
from zofw.sets.spectraplex import Spectraplex

__all__ = [
    "SETS",
    "Birkhoff",
    "Box",
    "CappedSimplex",
    "ConvexHull",
    "Custom",
    "GroupBall",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "LpBall",
    "NuclearBall",
    "Polytope",
    "Product",
    "Region",
    "Report",
    "SetLike",
    "Simplex",
    "SpectralBall",
    "Spectraplex",
    "as_set",
    "can_clip",
    "can_project",
    "check_set",
    "without_dictionaries",
]
