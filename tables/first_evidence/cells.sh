#!/bin/sh
# Writes cells.md: which numbers of the papers are run first, said before any of them is.
# Options are handed on, as in: sh tables/first_evidence/cells.sh --precision bf16
set -eu
here=$(dirname "$0")
{
  cat <<'HEAD'
# First evidence: the cells, before the runs

Made by `sh tables/first_evidence/cells.sh` before any of these runs was started. Every cell below gets a
number of ours, or a reason why not; none is dropped. Last-epoch accuracy is what counts, the best epoch stands
beside it. The same words after `noiseproof papers run` instead of `plan` start the runs. Runs are named by the
hash of the recipe as printed; with another precision or fewer epochs the hashes change, the cells do not.
The last table was added when the first runs raised its question: symmetric 0.4 and human 0.4 of SCE, GCE and MAE
before any run of it, clean labels and the rows of AUL and AGCE when four of its runs (symmetric 0.4) had ended.

HEAD
  noiseproof papers plan curriculum.table5 --columns clean --columns 'symmetric 0.4' --columns 'human 0.4' "$@"
  noiseproof papers plan imae.table6 --rows ResNet-20 "$@"
  noiseproof papers plan questions.saturation "$@"
  noiseproof papers plan curriculum.table3 --rows MAE --rows 'MAE shift' --rows 'MAE scale' \
    --columns 'symmetric 0.4' "$@"
  noiseproof papers plan questions.ce --columns 'symmetric 0.4' "$@"
  noiseproof papers plan questions.readings --columns clean --columns 'symmetric 0.4' --columns 'human 0.4' \
    --seeds 1 "$@"
} > "$here/cells.md"
