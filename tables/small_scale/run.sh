#!/usr/bin/env bash
# The claims of small scale: bash tables/small_scale/run.sh DATA OUT [more options of noiseproof compare]
# All groups at once; DATA holds mnist.npz and what make_small_sets.py wrote.
set -euo pipefail
data=$1 out=$2
shift 2
export NOISEPROOF_DATA=$data
compare() { python3 -m noiseproof.cli.main compare --json "$@" & }

# MNIST, the 4-layer network, 40% and 80% symmetric noise: ce against mae, sl, gce
for rate in 0.4 0.8; do
  compare --data mnist --noise "symmetric($rate)" --model cnn4 --epochs 10 --lr 0.01 --weight-decay 1e-3 \
    --loss ce --loss mae --loss "sl(alpha=0.01)" --loss "gce(q=0.7)" --seeds 3 --out "$out/mnist_symmetric_$rate" "$@"
done

# MNIST, constant learning rate, long: mae overfits as well; ce at a lower and at a higher rate does not
for rate in 0.0003 0.01 0.3; do
  compare --data "arrays(path='$data/mnist_small.npz')" --noise "symmetric(0.4)" --model cnn4 --epochs 150 \
    --schedule constant --lr "$rate" --evaluate-every 5 --loss ce --loss "unit_max(mae)" --seeds 1 \
    --out "$out/mnist_constant_lr_$rate" "$@"
done

# The same with an MLP and more rates, small enough for a CPU
for rate in 0.0001 0.001 0.01 0.1 1.0; do
  compare --data "arrays(path='$data/mnist_small.npz')" --noise "symmetric(0.4)" --model mlp --epochs 150 \
    --schedule constant --lr "$rate" --evaluate-every 5 --loss ce --loss "unit_max(mae)" --seeds 1 \
    --out "$out/mnist_mlp_constant_lr_$rate" "$@"
done

# Many classes: mae underfits 100 classes and not 10; scale and shift repair it (clean labels)
for name in cifar100 cifar10; do
  compare --data "arrays(path='$data/${name}_small.npz')" --model cnn8 --epochs 40 --lr 0.1 --clip 5 \
    --weight-decay 1e-5 --augment "flip" --loss ce --loss "unit_max(mae)" --loss "unit_max(scale(mae, tau=2.0))" \
    --loss "unit_max(shift(mae, tau=2.0))" --seeds 2 --evaluate-every 5 --out "$out/${name}_clean" "$@"
done
wait
