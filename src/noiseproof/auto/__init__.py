"""Select model, loss, learning rate and number of epochs by noisy labels alone."""

from ..labels.networks import as_inputs
from .choose import Choice, choose, fit, which_epoch
from .ensemble import Ensemble, agreement, label_weights, member_predictions
from .network import Network, check_network, is_network, train_network

__all__ = [
    "Choice",
    "Ensemble",
    "Network",
    "agreement",
    "as_inputs",
    "check_network",
    "choose",
    "fit",
    "is_network",
    "label_weights",
    "member_predictions",
    "train_network",
    "which_epoch",
]
