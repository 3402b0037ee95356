// One row of logits: sums over the classes other than the label, and the gradient they give.
#pragma once

#include <algorithm>
#include <cstdint>

#include "functions.h"

namespace noiseproof {

constexpr int64_t CHUNK = 64 * WIDTH; // so many numbers are added up in float, chunks in double

// Rows in scratch memory have this length.
inline int64_t padded(int64_t classes) { return (classes + WIDTH - 1) / WIDTH * WIDTH; }

template <class Number>
struct Logits {
  const Number* start;
  int64_t rows, classes, row_stride, column_stride;

  const Number* row(int64_t i) const { return start + i * row_stride; }
  float at(int64_t i, int64_t j) const { return static_cast<float>(row(i)[j * column_stride]); }
};

// What a loss wants beside the margin.
struct Wanted {
  bool sums = false, squares = false, products = false;
};

// Sums over a row; z is taken relative to the label's logit, which no loss of a softmax notices.
struct Sums {
  double peak = 0, mass = 1, sum_z = 0, classes = 0, squares = 0, products = 0;
  int64_t top = -1; // the likeliest of the other classes, found where squares are wanted
};

// The row as float into scratch memory, -inf at the label, if given, and in the padding; the largest of it.
template <class Number>
inline float load(const Logits<Number>& logits, int64_t i, int64_t label, float* z) {
  const int64_t n = padded(logits.classes);
  write(z + n - WIDTH, all(LOWEST));
  if (logits.column_stride == 1 && sizeof(Number) == sizeof(float)) {
    std::memcpy(z, logits.row(i), logits.classes * sizeof(float));
  } else if (logits.column_stride == 1) {
    for (int64_t j = 0; j < logits.classes; ++j) z[j] = static_cast<float>(logits.row(i)[j]);
  } else {
    for (int64_t j = 0; j < logits.classes; ++j) z[j] = logits.at(i, j);
  }
  if (label >= 0) z[label] = LOWEST;
  Vector found = read(z);
  for (int64_t j = WIDTH; j < n; j += WIDTH) {
    const Vector next = read(z + j);
    found = next > found ? next : found;
  }
  return maximum(found);
}

// Sum over all chunks of what ``part(j)`` gives for the sixteen numbers from j on.
template <class Part>
inline double total(int64_t n, Part part) {
  double found = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    const int64_t end = std::min(n, begin + CHUNK);
    Vector chunk = part(begin);
    for (int64_t j = begin + WIDTH; j < end; j += WIDTH) chunk += part(j);
    found += sum(chunk);
  }
  return found;
}

// z becomes exp(z - peak); their sum.
inline double raise(float* z, int64_t n, float peak) {
  return total(n, [=](int64_t j) {
    const Vector found = raised(read(z + j) - peak);
    write(z + j, found);
    return found;
  });
}

// z - own, 0 for classes that are masked.
inline Vector relative(const float* z, float own) {
  const Vector here = read(z);
  return here == LOWEST ? all(0.0f) : here - own;
}

inline Vector presence(const float* z) { return read(z) == LOWEST ? all(0.0f) : all(1.0f); }

// First pass over a loaded row; ``z`` becomes exp(z - peak), ``shifted`` z - own if products are wanted.
//
// The likeliest class has a share near 1 and differences to its square matter: what the others add up to is
// summed without it, so that mass - 1 keeps its digits.
inline Sums sums_of(float* z, int64_t n, float peak, float own, const Wanted& wanted, float* shifted) {
  Sums found;
  found.peak = peak;
  if (wanted.sums) {
    found.sum_z = total(n, [=](int64_t j) { return relative(z + j, own); });
    found.classes = 1 + total(n, [=](int64_t j) { return presence(z + j); });
  }
  if (wanted.products)
    for (int64_t j = 0; j < n; j += WIDTH) write(shifted + j, relative(z + j, own));
  if (!wanted.squares) {
    found.mass = raise(z, n, peak);
  } else {
    found.top = std::find(z, z + n - 1, peak) - z;
    z[found.top] = peak == peak ? LOWEST : peak;
    found.mass = 1 + raise(z, n, peak);
    const double squares = 1 + total(n, [=](int64_t j) { return read(z + j) * read(z + j); });
    found.squares = squares / (found.mass * found.mass);
    z[found.top] = 1;
  }
  if (wanted.products)
    found.products = total(n, [=](int64_t j) { return read(z + j) * read(shifted + j); }) / found.mass;
  return found;
}

// With e = exp(z - peak) a gradient row is e * (others + square * e + product * z) + shift.
struct Coefficients {
  double at_label, others, square, product, shift;
};

template <class Number>
inline void descend(const float* e, const float* z, const Coefficients& exact, int64_t classes, Number* out) {
  const auto others = static_cast<float>(exact.others), square = static_cast<float>(exact.square);
  const auto product = static_cast<float>(exact.product), shift = static_cast<float>(exact.shift);
  if (square == 0 && product == 0 && shift == 0) {
    for (int64_t j = 0; j < classes; ++j) out[j] = static_cast<Number>(e[j] * others);
  } else if (product == 0) {
    for (int64_t j = 0; j < classes; ++j) out[j] = static_cast<Number>(e[j] * (others + square * e[j]) + shift);
  } else {
    for (int64_t j = 0; j < classes; ++j)
      out[j] = static_cast<Number>(e[j] * (others + square * e[j] + product * z[j]) + shift);
  }
}

// Only a shift reaches classes of probability 0.
template <class Number>
inline void clear_masked(const Logits<Number>& logits, int64_t i, Number* out) {
  for (int64_t j = 0; j < logits.classes; ++j)
    if (logits.at(i, j) == LOWEST) out[j] = static_cast<Number>(0.0f);
}

} // namespace noiseproof
