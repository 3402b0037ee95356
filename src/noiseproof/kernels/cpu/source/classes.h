// Sums over classes of a loss of every class: its value and its ratio, minus the slope in log p.
//
// A row of scratch memory holds z - peak, -inf for classes that do not count here, and becomes the ratio of
// every class times its share.
#pragma once

#include <cmath>
#include <numeric>

#include "ahead.h"
#include "run.h"

namespace noiseproof {

// What turns z - peak and exp(z - peak) into log p and p, and the largest p that is to be expected.
struct ClassScale {
  float log_mass, per_mass, largest;
};

struct ClassTerms {
  Vector value, ratio;
};

struct ClassSums {
  double values = 0, ratios = 0;
};

// ``terms(j, z - peak)`` of every class, times ``prior`` where there is one.
template <bool PRIOR, class Terms>
INLINE ClassSums add_classes(float* z, const float* prior, int64_t n, Terms terms) {
  ClassSums found;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector values{}, ratios{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector low = read(z + j);
      auto [value, ratio] = terms(j, low);
      if constexpr (PRIOR) value *= read(prior + j), ratio *= read(prior + j);
      values += low == LOWEST ? Vector{} : value;
      ratio = low == LOWEST ? Vector{} : ratio;
      ratios += ratio;
      write(z + j, ratio);
    }
    found.values += sum(values);
    found.ratios += sum(ratios);
  }
  return found;
}

// Sums over a row: of exp(z - peak), and if they are wanted of z - peak and of the classes that are not masked.
struct Raised {
  double mass = 0, low = 0, classes = 0;
};

// z becomes z - peak and e its exponential, from a row that may lie at z. ``low`` is not finite if a class is masked.
template <bool SUMS>
inline Raised raise_row(const float* row, int64_t classes, float peak, const Ahead& ahead, float* z, float* e) {
  Raised found;
  const int64_t whole = classes / WIDTH * WIDTH;
  for (int64_t begin = 0; begin < classes; begin += CHUNK) {
    Vector mass{}, lows{};
    each_vector(row + begin, std::min(CHUNK, classes - begin), [&](int64_t j, Vector here) {
      ahead(begin + j);
      const Vector low = here - peak, raised_low = raised(low);
      write(z + begin + j, low);
      write(e + begin + j, raised_low);
      mass += raised_low;
      if constexpr (SUMS)
        if (begin + j < whole) lows += low;
    });
    found.mass += sum(mass);
    if constexpr (SUMS) found.low += sum(lows);
  }
  if constexpr (SUMS) found.low += std::accumulate(z + whole, z + classes, 0.0), found.classes = classes;
  return found;
}

// Sum and number of the classes that are not masked, where some are.
inline void count_again(const float* z, int64_t classes, Raised& found) {
  found.low = found.classes = 0;
  for (int64_t j = 0; j < classes; ++j)
    if (z[j] != LOWEST) found.low += z[j], ++found.classes;
}

// Whether every class but one is masked.
inline bool stands_alone(const float* row, int64_t classes) {
  return classes - std::count(row, row + classes, LOWEST) == 1;
}

inline double sum_without(const float* e, int64_t n, int64_t hidden) {
  double found = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector chunk{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH)
      chunk += positions(j) == static_cast<int32_t>(hidden) ? Vector{} : read(e + j);
    found += sum(chunk);
  }
  return found;
}

// The numbers of kernels/class_program.py.
enum ClassInput : int64_t { MARGIN, P, REST, LOG_P, LOG_REST, CLASS_INPUTS };

// A loss of the margin as a program run for every class.
struct ClassProgram {
  static constexpr int64_t LENGTH = 32; // vectors at once
  Program exact; // to value, ratio and emphasis, for the label and the likeliest class
  Program quick; // to value and ratio, for all others
  double by_value = 1, by_ratio = 1; // what its results are still to be multiplied with
  bool shares = true, margins = true; // whether it reads p or 1 - p; log(1 - p) or the margin

  // Inputs of ``count`` vectors of a row, from place ``k`` on.
  void begin(Vector* const* r, int64_t k, int64_t count, const float* z, const float* e, const ClassScale& row) const {
    Vector *margin = r[MARGIN] + k, *p = r[P] + k, *rest = r[REST] + k, *log_p = r[LOG_P] + k;
    Vector* log_rest = r[LOG_REST] + k;
    for (int64_t i = 0; i < count; ++i) log_p[i] = read(z + i * WIDTH) - row.log_mass;
    for (int64_t i = 0; (shares || margins) && i < count; ++i) {
      p[i] = read(e + i * WIDTH) * row.per_mass;
      rest[i] = 1.0f - p[i];
    }
    for (int64_t i = 0; margins && i < count; ++i) {
      log_rest[i] = log1p(-p[i]);
      margin[i] = log_p[i] - log_rest[i];
    }
  }
};

// Inputs of a class program, in double.
inline void inputs_of(const double* given, int64_t n, double* const* r) {
  double *margin = r[MARGIN], *p = r[P], *rest = r[REST], *log_p = r[LOG_P], *log_rest = r[LOG_REST];
#pragma GCC ivdep
  for (int64_t k = 0; k < n; k += PER_STEP) {
    const Doubles here = step_of(given + k), low = exp_of_size(here), large = 1 / (1 + low), small = low * large;
    const Doubles log_large = -log1p_of_part(low), log_small = log_large - absolute(here);
    put(margin + k, here);
    put(p + k, here >= 0 ? large : small);
    put(rest + k, here >= 0 ? small : large);
    put(log_p + k, here >= 0 ? log_large : log_small);
    put(log_rest + k, here >= 0 ? log_small : log_large);
  }
}

} // namespace noiseproof
