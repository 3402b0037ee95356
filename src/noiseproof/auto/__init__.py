"""Which model, which loss, how long: chosen from noisy labels alone."""

from .ensemble import Ensemble
from .network import Network, as_inputs, train_network

__all__ = ["Ensemble", "Network", "as_inputs", "train_network"]
