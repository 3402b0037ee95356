// Elementary functions as plain arithmetic on T: a Vector of floats, for every logit, to about 1e-7, or Doubles,
// for a few numbers per row, to about 1e-12. Where these are single ones the compiler turns loops over them into
// vector code.
#pragma once

#include <array>
#include <cmath>

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

// exp(x) of x <= 0, to 5e-7 where it is not tiny; exactly 1 at 0 and 0 below -88, nan stays nan. Fewer steps than exp.
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

// log(x + missing), where ``missing`` is what x lost by rounding; of x that are neither 0 nor tiny, negative nor infinite.
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
