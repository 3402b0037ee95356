"""One run on two workers of Ray Train: python examples/ray_train.py --out FOLDER (pip install 'ray[train]').

Every worker calls ``fit`` with the same settings. FOLDER must be on a file
system that all machines of the cluster share.
"""

import argparse
from pathlib import Path

from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

from noiseproof.train import Config, Run, fit


def work(settings):
    fit(Config.from_dict(settings))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="runs/ray", help="a folder that all machines see")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpu", action="store_true", help="one GPU for each worker")
    options = parser.parse_args()
    out = Path(options.out).resolve().as_posix()  # workers stand in another folder
    settings = Config(noise="symmetric(0.4)", loss="gce(q=0.7)", epochs=20, lr=0.1, out=out).to_dict()
    scaling = ScalingConfig(num_workers=options.workers, use_gpu=options.gpu)
    TorchTrainer(work, train_loop_config=settings, scaling_config=scaling).fit()
    run = Run(out)
    print(f"{run.folder}: final test accuracy {run.result['final_test_accuracy']:.1%}, {run.record}")
