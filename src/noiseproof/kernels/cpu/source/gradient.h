// The gradient of one row, from its exponentials and a few numbers.
#pragma once

#include "rows.h"

namespace noiseproof {

// A vector of results at a time, ``formula(j)``, rounded to the numbers of ``out``.
template <class Number, class Formula>
inline void fill(Number* out, int64_t classes, Formula formula) {
  const auto put = [=](int64_t j, int64_t count) {
    if constexpr (std::is_same_v<Number, float>) {
      count == WIDTH ? write(out + j, formula(j)) : write_first(out + j, count, formula(j));
    } else {
      float found[WIDTH];
      write(found, formula(j));
      for (int64_t k = 0; k < count; ++k) out[j + k] = static_cast<Number>(found[k]);
    }
  };
  const int64_t whole = classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) put(j, WIDTH);
  if (whole < classes) put(whole, classes - whole);
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
    fill(out, classes, [=](int64_t j) { return read(e + j) * others; });
  } else if (!z || product == 0) { // without z there is none, but 0 times what is not finite is nan
    fill(out, classes, [=](int64_t j) { return read(e + j) * (others + square * read(e + j)) + shift; });
  } else {
    fill(out, classes, [=](int64_t j) {
      return read(e + j) * (others + square * read(e + j) + product * read(z + j)) + shift;
    });
  }
}

// Only a shift reaches classes of probability 0.
template <class Number>
inline void clear_masked(const Logits<Number>& logits, int64_t i, Number* out) {
  for (int64_t j = 0; j < logits.classes; ++j)
    if (logits.at(i, j) == LOWEST) out[j] = static_cast<Number>(0.0f);
}

} // namespace noiseproof
