"""Convex sets, each reached through its linear minimisation oracle; one set, one file.

`SETS` maps names to classes. `as_set` makes a set of what the user has, `check_set` tests one,
and `can_project` and `can_clip` tell whether a set has a Euclidean projection and exact
members.
"""

from zofw.sets.birkhoff import Birkhoff as Birkhoff
from zofw.sets.box import Box as Box
from zofw.sets.capped_simplex import CappedSimplex as CappedSimplex
from zofw.sets.check import Report as Report
from zofw.sets.check import check_set as check_set
from zofw.sets.convex_hull import ConvexHull as ConvexHull
from zofw.sets.custom import Custom as Custom
from zofw.sets.custom import can_clip as can_clip
from zofw.sets.custom import can_project as can_project
from zofw.sets.given import SetLike as SetLike
from zofw.sets.given import as_set as as_set
from zofw.sets.given import without_dictionaries as without_dictionaries
from zofw.sets.group_ball import GroupBall as GroupBall
from zofw.sets.k_sparse import KSparse as KSparse
from zofw.sets.l1_ball import L1Ball as L1Ball
from zofw.sets.l2_ball import L2Ball as L2Ball
from zofw.sets.linf_ball import LinfBall as LinfBall
from zofw.sets.lp_ball import LpBall as LpBall
from zofw.sets.nuclear_ball import NuclearBall as NuclearBall
from zofw.sets.polytope import Polytope as Polytope
from zofw.sets.product import Product as Product
from zofw.sets.protocol import SETS as SETS
from zofw.sets.protocol import Region as Region
from zofw.sets.simplex import Simplex as Simplex
from zofw.sets.spectral_ball import SpectralBall as SpectralBall
from zofw.sets.spectraplex import Spectraplex as Spectraplex
