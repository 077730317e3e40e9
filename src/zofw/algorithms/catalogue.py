"""The methods: one line for each. Nothing else names them one by one."""

from zofw.algorithms.acc_szofw import AccSZOFW as AccSZOFW
from zofw.algorithms.acc_szofw_star import AccSZOFWStar as AccSZOFWStar
from zofw.algorithms.accelerated_zscg import AcceleratedZSCG as AcceleratedZSCG
from zofw.algorithms.boosted_zo_sfw import BoostedZOSFW as BoostedZOSFW
from zofw.algorithms.explore_correct import ExploreCorrect as ExploreCorrect
from zofw.algorithms.frank_wolfe import FrankWolfe as FrankWolfe
from zofw.algorithms.fw_black import FWBlack as FWBlack
from zofw.algorithms.fzcgs import FZCGS as FZCGS
from zofw.algorithms.fzfw import FZFW as FZFW
from zofw.algorithms.interpolation import Interpolation as Interpolation
from zofw.algorithms.jaguar import JAGUAR as JAGUAR
from zofw.algorithms.jaguar import StochasticJAGUAR as StochasticJAGUAR
from zofw.algorithms.ridge_newton import RidgeNewton as RidgeNewton
from zofw.algorithms.saga_fw import SAGAFW as SAGAFW
from zofw.algorithms.sahu_kar import SahuKar as SahuKar
from zofw.algorithms.spsa import SPSA as SPSA
from zofw.algorithms.zivr_fw import ZIVRFW as ZIVRFW
from zofw.algorithms.zo_adamm import ZOAdaMM as ZOAdaMM
from zofw.algorithms.zo_fw import ZOFW as ZOFW
from zofw.algorithms.zo_psgd import ZOPSGD as ZOPSGD
from zofw.algorithms.zo_sfw import ZOSFW as ZOSFW
from zofw.algorithms.zo_sfw_nonconvex import ZOSFWNonconvex as ZOSFWNonconvex
from zofw.algorithms.zo_svrg import ZOSVRG as ZOSVRG
from zofw.algorithms.zpdvr import ZPDVR as ZPDVR
from zofw.algorithms.zscg import ZSCG as ZSCG
from zofw.algorithms.zsfw_dvr import ZSFWDVR as ZSFWDVR
