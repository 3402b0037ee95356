"""Which model, which loss, how long: chosen from noisy labels alone."""

from .choose import Choice, choose, fit, which_epoch
from .ensemble import Ensemble, agreement, hear, trust_of
from .network import Network, as_inputs, check_network, is_network, train_network

__all__ = [
    "Choice",
    "Ensemble",
    "Network",
    "agreement",
    "as_inputs",
    "check_network",
    "choose",
    "fit",
    "hear",
    "is_network",
    "train_network",
    "trust_of",
    "which_epoch",
]
