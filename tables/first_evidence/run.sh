#!/bin/sh
# The runs of cells.md, the most telling first: sh tables/first_evidence/run.sh OUT [options of papers run]
# Give the same command again to go on: finished runs are kept, interrupted ones resume. Needs a CUDA device
# and the data (noiseproof data get cifar10 cifar100, and the human labels of CIFAR-N).
set -eu
out=$1
shift
run() { noiseproof papers run "$@" --precision bf16; }

for seeds in 1 2 3 4 5; do
  run curriculum.table5 --columns clean --columns 'symmetric 0.4' --columns 'human 0.4' --seeds "$seeds" \
    --out "$out/a" "$@"
  [ "$seeds" -eq 1 ] && run questions.readings --columns clean --columns 'symmetric 0.4' --columns 'human 0.4' \
    --seeds 1 --out "$out/a" "$@"
  [ "$seeds" -gt 3 ] && continue
  run questions.saturation --columns 'symmetric 0.4' --seeds "$seeds" --out "$out/b" "$@"
  run questions.saturation --seeds "$seeds" --out "$out/b" "$@"
  run imae.table6 --rows ResNet-20 --seeds "$seeds" --out "$out/b" "$@"
  run curriculum.table3 --rows MAE --rows 'MAE shift' --rows 'MAE scale' --columns 'symmetric 0.4' \
    --seeds "$seeds" --out "$out/c" "$@"
  run questions.ce --columns 'symmetric 0.4' --seeds "$seeds" --out "$out/c" "$@"
done
