"""Methods of papers, one file for each paper: `ZSFWDVR`, `FrankWolfe`, and rivals."""

from zofw.papers.acc_szofw import AccSZOFW as AccSZOFW
from zofw.papers.acc_szofw import AccSZOFWStar as AccSZOFWStar
from zofw.papers.boosted_zo_sfw import BoostedZOSFW as BoostedZOSFW
from zofw.papers.frank_wolfe import FrankWolfe as FrankWolfe
from zofw.papers.fw_black import FWBlack as FWBlack
from zofw.papers.fzfw import FZCGS as FZCGS
from zofw.papers.fzfw import FZFW as FZFW
from zofw.papers.jaguar import JAGUAR as JAGUAR
from zofw.papers.jaguar import StochasticJAGUAR as StochasticJAGUAR
from zofw.papers.saga_fw import SAGAFW as SAGAFW
from zofw.papers.sahu_kar import SahuKar as SahuKar
from zofw.papers.spsa import SPSA as SPSA
from zofw.papers.zivr_fw import ZIVRFW as ZIVRFW
from zofw.papers.zo_adamm import ZOAdaMM as ZOAdaMM
from zofw.papers.zo_psgd import ZOPSGD as ZOPSGD
from zofw.papers.zo_sfw import ZOFW as ZOFW
from zofw.papers.zo_sfw import ZOSFW as ZOSFW
from zofw.papers.zo_sfw import ZOSFWNonconvex as ZOSFWNonconvex
from zofw.papers.zo_svrg import ZOSVRG as ZOSVRG
from zofw.papers.zpdvr import ZPDVR as ZPDVR
from zofw.papers.zscg import ZSCG as ZSCG
from zofw.papers.zscg import AcceleratedZSCG as AcceleratedZSCG
from zofw.papers.zsfw_dvr import ZSFWDVR as ZSFWDVR
