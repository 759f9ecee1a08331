"""Explorers: live panels for a notebook. Each works with ipywidgets 7.7.1 and 8, by mouse and by keyboard."""

from amp_lessons.widgets.bit_explorer import BitExplorer, bit_explorer
from amp_lessons.widgets.explorer import Explorer
from amp_lessons.widgets.loss_scale_explorer import LossScaleExplorer, loss_scale_explorer
from amp_lessons.widgets.policy_explorer import PolicyExplorer, policy_explorer
from amp_lessons.widgets.roofline_explorer import RooflineExplorer, roofline_explorer
from amp_lessons.widgets.scaler_simulator import ScalerSimulator, scaler_simulator
from amp_lessons.widgets.sum_explorer import SumExplorer, sum_explorer

__all__ = [
    "BitExplorer",
    "Explorer",
    "LossScaleExplorer",
    "PolicyExplorer",
    "RooflineExplorer",
    "ScalerSimulator",
    "SumExplorer",
    "bit_explorer",
    "loss_scale_explorer",
    "policy_explorer",
    "roofline_explorer",
    "scaler_simulator",
    "sum_explorer",
]
