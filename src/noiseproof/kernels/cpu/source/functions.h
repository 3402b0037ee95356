// Elementary functions as plain arithmetic: on Doubles, for a few numbers per row, to about 1e-12, and exp on a Vector
// of floats, for every logit, to about 5e-7. Where Doubles are single numbers the compiler vectorises loops over
// them.
#pragma once

#include <array>
#include <cmath>

#include "vectors.h"

namespace noiseproof {

constexpr int MANTISSA = 52, EXP_TERMS = 11, LOG_TERMS = 8;
constexpr int64_t BIAS = 1023, CENTRE = 0x3fe6a09e667f3bcd, ROUNDER_BITS = 0x4338000000000000;
constexpr double ROUNDER = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to an integer
constexpr double LOG2_HIGH = 6.93145751953125e-1, LOG2_LOW = 1.42860682030941723212e-6;
constexpr double MIN_NORMAL = 2.3e-308, MIN_EXPONENT = -708, MAX_EXPONENT = 709; // bounds of exp(x)

INLINE Doubles filled(double number) { return Doubles{} + number; }

// Even and odd powers side by side: half the latency.
template <size_t N>
INLINE Doubles polynomial(Doubles x, const std::array<double, N>& terms) {
  constexpr int EVEN = (N - 1) / 2 * 2, ODD = N / 2 * 2 - 1;
  const Doubles square = x * x;
  Doubles even = filled(terms[EVEN]), odd = filled(terms[ODD]);
#pragma GCC unroll 8
  for (int k = EVEN - 2; k >= 0; k -= 2) even = even * square + terms[k];
#pragma GCC unroll 8
  for (int k = ODD - 2; k >= 0; k -= 2) odd = odd * square + terms[k];
  return odd * x + even;
}

// 1/1!, 1/2! and so on.
constexpr auto exponential_terms() {
  std::array<double, EXP_TERMS> terms{};
  double factorial = 1;
  for (int k = 0; k < EXP_TERMS; ++k) terms[k] = 1 / (factorial *= k + 1);
  return terms;
}

// 2/3, 2/5 and so on.
constexpr auto logarithm_terms() {
  std::array<double, LOG_TERMS> terms{};
  for (int k = 0; k < LOG_TERMS; ++k) terms[k] = 2.0 / (2 * k + 3);
  return terms;
}

struct Exponentials {
  Doubles whole, less_one;
};

// exp(x), and exp(x) - 1 without loss, of x <= MAX_EXPONENT; 0 below the range of normal doubles.
INLINE Exponentials exponentials_below(Doubles x) {
  constexpr auto TERMS = exponential_terms();
  x = at_least(MIN_EXPONENT - 1, x);
  const Doubles shifted = x * 1.4426950408889634 + ROUNDER, whole = shifted - ROUNDER;
  const Doubles rest = (x - whole * LOG2_HIGH) - whole * LOG2_LOW; // at most log(2) / 2
  const Doubles scale = same_bits<Doubles>((same_bits<Wholes>(shifted) - ROUNDER_BITS + BIAS) << MANTISSA);
  const Doubles above_one = polynomial(rest, TERMS) * rest;
  return {above_one * scale + scale, above_one * scale + (scale - 1)};
}

// The same of any x; infinity beyond the range of doubles.
INLINE Exponentials exponentials(Doubles x) {
  const Doubles most = filled(MAX_EXPONENT), infinite = filled(INFINITE);
  const auto [whole, less_one] = exponentials_below(at_most(MAX_EXPONENT, x));
  return {most < x ? infinite : whole, most < x ? infinite : less_one};
}

INLINE Doubles exp(Doubles x) { return exponentials(x).whole; }

INLINE Doubles expm1(Doubles x) { return exponentials(x).less_one; }

// log(x + missing), where ``missing`` is what x lost by rounding; x is normal, positive and finite.
INLINE Doubles log_of_normal(Doubles x, Doubles missing) {
  constexpr auto BIASED = BIAS << MANTISSA, PART = (int64_t{1} << MANTISSA) - 1;
  constexpr auto TERMS = logarithm_terms();
  const Wholes bits = same_bits<Wholes>(x) - CENTRE + BIASED, power = bits >> MANTISSA;
  const Doubles exponent = same_bits<Doubles>(power + ROUNDER_BITS) - ROUNDER - static_cast<double>(BIAS);
  const Doubles mantissa = same_bits<Doubles>((bits & PART) + CENTRE);
  const Doubles above = (mantissa - 1) + missing * same_bits<Doubles>((2 * BIAS - power) << MANTISSA);
  const Doubles s = above / (above + 2), t = s * s;
  const Doubles series = polynomial(t, TERMS) * t * s + 2 * s;
  return exponent * 0.6931471805599453 + series + (x - x); // nan stays nan
}

// The same of any x.
INLINE Doubles log_of_sum(Doubles x, Doubles missing) {
  const Doubles found = log_of_normal(x, missing), usual = x < INFINITE ? found : x;
  const Doubles low = x == 0 ? filled(-INFINITE) : filled(NOT_A_NUMBER);
  return x > 0 ? (x < MIN_NORMAL ? filled(MIN_EXPONENT) : usual) : low;
}

INLINE Doubles log(Doubles x) { return log_of_sum(x, Doubles{}); }

INLINE Doubles log1p(Doubles x) {
  const Doubles up = x + 1, missing = x - (up - 1);
  return log_of_sum(up, x < INFINITE ? missing : Doubles{});
}

// log(1 + x) of x from 0 to 1.
INLINE Doubles log1p_of_part(Doubles x) {
  const Doubles up = x + 1;
  return log_of_normal(up, x - (up - 1));
}

INLINE Doubles absolute(Doubles x) { return x < 0 ? -x : x; }

// exp(-|x|)
INLINE Doubles exp_of_size(Doubles x) { return exponentials_below(-absolute(x)).whole; }

INLINE Doubles sigmoid(Doubles x) {
  const Doubles low = exp_of_size(x);
  return (x >= 0 ? filled(1) : low) / (low + 1);
}

INLINE Doubles logsigmoid(Doubles x) { return at_most(0, x) - log1p_of_part(exp_of_size(x)); }

// A real power: nan for negative bases.
INLINE Doubles power(Doubles base, Doubles exponent) {
  const Doubles found = exp(exponent * log(base));
  return base == 0 ? (exponent > 0 ? Doubles{} : filled(INFINITE)) : found;
}

INLINE Doubles root(Doubles x) {
  double numbers[PER_STEP];
  std::memcpy(numbers, &x, sizeof x);
  for (double& number : numbers) number = std::sqrt(number);
  std::memcpy(&x, numbers, sizeof x);
  return x;
}

// exp(x) of x <= 0, to 5e-7 where it is not tiny (1e-6 without fused multiply-add); exactly 1 at 0 and 0 below -87.7,
// nan stays nan.
INLINE Vector raised(Vector x) {
  constexpr float PER_LOG2 = 1.44269504f, SHIFT = 12582912.0f + 127; // its last bits are an exponent already
  constexpr float SERIES[] = {1, -0.693147004f, 0.240222409f, -0.0555073433f, 0.00967156608f, -0.00132646575f};
  x = at_least(-88, x); // its exponent is 0, and so is the number that has no other bits
  const Vector shifted = x * PER_LOG2 + SHIFT, rest = (shifted - SHIFT) - x * PER_LOG2;
  Vector found = all(SERIES[5]);
#pragma GCC unroll 8
  for (int k = 4; k >= 0; --k) found = found * rest + SERIES[k];
  return found * same_bits<Vector>(same_bits<Whole>(shifted) << 23);
}

} // namespace noiseproof
