// Sums over the classes of one row other than the label.
#pragma once

#include "ahead.h"

namespace noiseproof {

// What a loss wants beside the margin.
struct Wanted {
  bool sums = false, squares = false, products = false;
};

// Sums over a row; z is taken relative to the label's logit, which no loss of a softmax notices.
struct Sums {
  double peak = 0, mass = 1, sum_z = 0, classes = 0, squares = 0, products = 0;
  int64_t top = -1; // the likeliest of the other classes where squares are wanted and there is only one
};

// Sums of one chunk, in float.
struct Chunk {
  Vector mass{}, squares{}, sum_z{}, classes{}, products{}, ties{};
};

// First pass over a loaded row; ``z`` becomes exp(z - peak), ``shifted`` z - own if products are wanted.
//
// The likeliest class has a share near 1 and differences to its square matter: what the others add up to is
// summed without it, so that mass - 1 keeps its digits.
template <bool SUMS, bool SQUARES, bool PRODUCTS>
inline Sums sums_of(float* z, int64_t n, float peak, float own, const Ahead& ahead, float* shifted) {
  Sums found;
  Whole places = Whole{} - 1;
  double ties = 0;
  found.peak = peak;
  found.mass = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Chunk chunk;
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      ahead(j);
      const Vector here = read(z + j), e = raised(here - peak);
      const Vector relative = here == LOWEST ? all(0.0f) : here - own;
      write(z + j, e);
      if constexpr (SUMS) {
        chunk.sum_z += relative;
        chunk.classes += here == LOWEST ? all(0.0f) : all(1.0f);
      }
      if constexpr (PRODUCTS) {
        write(shifted + j, relative);
        chunk.products += e * relative;
      }
      if constexpr (SQUARES) {
        const Vector low = here == peak ? all(0.0f) : e;
        chunk.squares += low * low;
        chunk.mass += low;
        chunk.ties += here == peak ? all(1.0f) : all(0.0f);
        places = here == peak ? positions(j) : places;
      } else {
        chunk.mass += e;
      }
    }
    found.mass += sum(chunk.mass);
    if constexpr (SUMS) found.sum_z += sum(chunk.sum_z), found.classes += sum(chunk.classes);
    if constexpr (SQUARES) found.squares += sum(chunk.squares), ties += sum(chunk.ties);
    if constexpr (PRODUCTS) found.products += sum(chunk.products);
  }
  if constexpr (SUMS) found.classes += 1;
  if constexpr (SQUARES) {
    if (ties == 1) found.top = largest(places);
    found.mass += ties;
    found.squares = (found.squares + ties) / (found.mass * found.mass);
  }
  if constexpr (PRODUCTS) found.products /= found.mass;
  return found;
}

using SumsFunction = Sums (*)(float*, int64_t, float, float, const Ahead&, float*);

inline SumsFunction sums_function(const Wanted& wanted) {
  static constexpr SumsFunction all_of_them[] = {
      sums_of<false, false, false>, sums_of<true, false, false>, sums_of<false, true, false>,
      sums_of<true, true, false>,   sums_of<false, false, true>, sums_of<true, false, true>,
      sums_of<false, true, true>,   sums_of<true, true, true>};
  return all_of_them[wanted.sums + 2 * wanted.squares + 4 * wanted.products];
}

} // namespace noiseproof
