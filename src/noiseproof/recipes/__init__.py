"""Procedures of several runs; each stage has its own run folder, so they can be interrupted and resumed."""

from .correct import Corrected, estimate_and_correct
from .relabel import Relabelled, relabel_and_retrain
from .stage import stage

RECIPES = {"relabel": relabel_and_retrain, "correct": estimate_and_correct}

__all__ = ["RECIPES", "Corrected", "Relabelled", "estimate_and_correct", "relabel_and_retrain", "stage"]
