// Labels of a batch, and which rows count.
#pragma once

#include <cstdint>

namespace noiseproof {

struct Labels {
  const int64_t* target;
  int64_t ignore_index;

  bool kept(int64_t i) const { return target[i] != ignore_index; }
};

// How many rows count; -1 if a label that is not ignored is no class.
inline int64_t count_kept(const Labels& labels, int64_t rows, int64_t classes) {
  int64_t kept = 0, strays = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const bool counts = labels.kept(i);
    kept += counts;
    strays += counts && (labels.target[i] < 0 || labels.target[i] >= classes);
  }
  return strays ? -1 : kept;
}

} // namespace noiseproof
