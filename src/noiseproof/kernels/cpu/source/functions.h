// Elementary functions as plain arithmetic on T: a Vector of floats, for every logit, to about 1e-7, or Doubles,
// for a few numbers per row, to about 1e-12. Where these are single ones the compiler turns loops over them into
// vector code.
#pragma once

#include <cmath>

#include "exponentials.h"

namespace noiseproof {

// log(x + missing), where ``missing`` is what x lost by rounding; of x that are neither 0 nor tiny, negative nor
// infinite.
template <class T>
INLINE T log_of_usual(T x, T missing) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr auto BIASED = F::BIAS << F::MANTISSA, PART = (decltype(F::BIAS){1} << F::MANTISSA) - 1;
  const Bits bits = same_bits<Bits>(x) - F::CENTRE + BIASED, power = bits >> F::MANTISSA;
  const T exponent = same_bits<T>(power + F::ROUNDER_BITS) - F::ROUNDER - static_cast<NumberOf<T>>(F::BIAS);
  const T mantissa = same_bits<T>((bits & PART) + F::CENTRE);
  const T above = (mantissa - 1) + missing * same_bits<T>((2 * F::BIAS - power) << F::MANTISSA);
  const T s = above / (above + 2), t = s * s;
  constexpr auto TERMS = logarithm_terms<F>();
  const T series = polynomial(t, TERMS) * t * s + 2 * s;
  const T found = exponent * static_cast<NumberOf<T>>(0.6931471805599453) + series;
  return found + (x - x); // nan
}

// The same of any x.
template <class T>
INLINE T log_of_sum(T x, T missing) {
  using F = Format<T>;
  const T found = log_of_usual(x, missing), usual = x < static_cast<NumberOf<T>>(INFINITE) ? found : x;
  const T low = x == 0 ? filled<T>(-INFINITE) : filled<T>(NOT_A_NUMBER);
  return x > 0 ? (x < F::SMALLEST ? filled<T>(F::LEAST) : usual) : low;
}

template <class T>
INLINE T log(T x) {
  return log_of_sum(x, T{});
}

template <class T>
INLINE T log1p(T x) {
  const T up = x + 1, missing = x - (up - 1);
  return log_of_sum(up, x < static_cast<NumberOf<T>>(INFINITE) ? missing : T{});
}

// log(1 + x) of x from 0 to 1.
template <class T>
INLINE T log1p_of_part(T x) {
  const T up = x + 1;
  return log_of_usual(up, x - (up - 1));
}

template <class T>
INLINE T absolute(T x) {
  return x < 0 ? -x : x;
}

// exp(-|x|)
template <class T>
INLINE T exp_of_size(T x) {
  return exponentials_below(-absolute(x)).whole;
}

template <class T>
INLINE T sigmoid(T x) {
  const T low = exp_of_size(x);
  return (x >= 0 ? filled<T>(1) : low) / (low + 1);
}

template <class T>
INLINE T logsigmoid(T x) {
  return at_most(0, x) - log1p_of_part(exp_of_size(x));
}

// Of bases that are not negative; nan otherwise, as a real power is.
template <class T>
INLINE T power(T base, T exponent) {
  const T found = exp(exponent * log(base));
  return base == 0 ? (exponent > 0 ? T{} : filled<T>(INFINITE)) : found;
}

// ``function`` of each number.
template <class T, class Function>
INLINE T one_by_one(T x, Function function) {
  NumberOf<T> numbers[sizeof(T) / sizeof(NumberOf<T>)];
  std::memcpy(numbers, &x, sizeof x);
  for (NumberOf<T>& number : numbers) number = function(number);
  std::memcpy(&x, numbers, sizeof x);
  return x;
}

template <class T>
INLINE T root(T x) {
  return one_by_one(x, [](auto number) { return std::sqrt(number); });
}

} // namespace noiseproof
