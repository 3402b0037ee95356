// Exponentials as plain arithmetic.
#pragma once

#include "polynomial.h"

namespace noiseproof {

// x as a power of two, ``scale``, and a rest of at most log(2) / 2 for which ``series`` is (exp(rest) - 1) / rest.
template <class T>
struct Exponent {
  T scale, rest, series;
};

template <class T>
INLINE Exponent<T> exponent_of(T x) {
  using F = Format<T>;
  constexpr auto TERMS = exponential_terms<F>();
  const T shifted = x * static_cast<NumberOf<T>>(1.4426950408889634) + F::ROUNDER, whole = shifted - F::ROUNDER;
  const T rest = (x - whole * F::LOG2_HIGH) - whole * F::LOG2_LOW;
  const auto exponent = same_bits<typename F::Bits>(shifted) - F::ROUNDER_BITS + F::BIAS;
  return {same_bits<T>(exponent << F::MANTISSA), rest, polynomial(rest, TERMS)};
}

template <class T>
struct Exponentials {
  T whole, less_one;
};

// exp(x), and exp(x) - 1 without loss, of x <= MOST; 0 below the range of T, where the scale has no bits.
template <class T>
INLINE Exponentials<T> exponentials_below(T x) {
  const auto [scale, rest, series] = exponent_of(at_least(Format<T>::LEAST - 1, x));
  const T above_one = series * rest;
  return {above_one * scale + scale, above_one * scale + (scale - 1)};
}

// The same of any x; infinity beyond the range of T.
template <class T>
INLINE Exponentials<T> exponentials(T x) {
  const T most = filled<T>(Format<T>::MOST), infinite = filled<T>(INFINITE);
  const auto [whole, less_one] = exponentials_below(at_most(Format<T>::MOST, x));
  return {most < x ? infinite : whole, most < x ? infinite : less_one};
}

template <class T>
INLINE T exp(T x) {
  return exponentials(x).whole;
}

template <class T>
INLINE T expm1(T x) {
  return exponentials(x).less_one;
}

// exp(x) of x <= 0, to 5e-7 where it is not tiny (1e-6 without fused multiply-add); exactly 1 at 0 and 0 below -87.7,
// nan stays nan. Fewer steps than exp.
INLINE Vector raised(Vector x) {
  using F = Format<Vector>;
  constexpr float PER_LOG2 = 1.44269504f, ROUNDER = F::ROUNDER + F::BIAS; // its last bits are an exponent already
  constexpr float SERIES[] = {1, -0.693147004f, 0.240222409f, -0.0555073433f, 0.00967156608f, -0.00132646575f};
  x = at_least(-88, x); // its exponent is 0, and so is the number that has no other bits
  const Vector shifted = x * PER_LOG2 + ROUNDER, rest = (shifted - ROUNDER) - x * PER_LOG2;
  Vector found = all(SERIES[5]);
#pragma GCC unroll 8
  for (int k = 4; k >= 0; --k) found = found * rest + SERIES[k];
  const Vector scale = same_bits<Vector>(same_bits<Whole>(shifted) << F::MANTISSA);
  return found * scale;
}

} // namespace noiseproof
