// Polynomials, and the terms of those that stand for exponentials and logarithms.
#pragma once

#include <array>

#include "format.h"

namespace noiseproof {

// Terms of even and of odd powers side by side: half as long to wait for.
template <class T, size_t N>
INLINE T polynomial(T x, const std::array<NumberOf<T>, N>& terms) {
  constexpr int EVEN = (N - 1) / 2 * 2, ODD = N / 2 * 2 - 1;
  const T square = x * x;
  T even = filled<T>(terms[EVEN]), odd = filled<T>(terms[ODD]);
#pragma GCC unroll 8
  for (int k = EVEN - 2; k >= 0; k -= 2) even = even * square + terms[k];
#pragma GCC unroll 8
  for (int k = ODD - 2; k >= 0; k -= 2) odd = odd * square + terms[k];
  return odd * x + even;
}

// 1/1!, 1/2! and so on, but for the last.
template <class F>
constexpr auto exponential_terms() {
  std::array<typename F::Number, F::EXP_TERMS> terms{};
  double factorial = 1;
  for (int k = 0; k < F::EXP_TERMS - 1; ++k) terms[k] = static_cast<typename F::Number>(1 / (factorial *= k + 1));
  terms[F::EXP_TERMS - 1] = F::LAST_TERM;
  return terms;
}

// 2/3, 2/5 and so on.
template <class F>
constexpr auto logarithm_terms() {
  std::array<typename F::Number, F::LOG_TERMS> terms{};
  for (int k = 0; k < F::LOG_TERMS; ++k) terms[k] = static_cast<typename F::Number>(2.0 / (2 * k + 3));
  return terms;
}

} // namespace noiseproof
