// Elementary functions as plain arithmetic, so that the compiler turns loops over them into vector code.
// float: for every logit, to about 1e-7. double: for a few numbers per row, to about 1e-12.
#pragma once

#include <cmath>

#include "vectors.h"

// A loop over a function is only turned into vector code if the function is inside it.
#define INLINE inline __attribute__((always_inline))

namespace noiseproof {

// exp(x) of x <= 0; exactly 0 below -87, nan stays nan.
INLINE Vector raised(Vector x) {
  constexpr float ROUNDER = 12582912.0f; // 1.5 * 2^23: adding it rounds to a whole number
  const Vector shifted = x * 1.44269504f + ROUNDER;
  const Vector whole = shifted - ROUNDER;
  const Vector rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Vector series = all(1.0f / 700); // 1/720 and a little of what is left out
  series = series * rest + 1.0f / 120;
  series = series * rest + 1.0f / 24;
  series = series * rest + 1.0f / 6;
  series = series * rest + 0.5f;
  series = series * rest + 1.0f;
  series = series * rest + 1.0f;
  const Whole exponent = same_bits<Whole>(shifted) - same_bits<int32_t>(ROUNDER) + 127;
  const Vector found = series * same_bits<Vector>(exponent << 23);
  return x < -87.0f ? all(0.0f) : found;
}

// log(x) of normal x > 0.
INLINE Vector logarithm(Vector x) {
  constexpr int32_t CENTRE = 0x3f3504f3; // sqrt(1/2): mantissas around 1
  const Whole bits = same_bits<Whole>(x) - CENTRE;
  const Vector exponent = __builtin_convertvector(bits >> 23, Vector);
  const Vector mantissa = same_bits<Vector>((bits & 0x7fffff) + CENTRE);
  const Vector s = (mantissa - 1.0f) / (mantissa + 1.0f), t = s * s;
  Vector series = all(2.0f / 9);
  series = series * t + 2.0f / 7;
  series = series * t + 2.0f / 5;
  series = series * t + 2.0f / 3;
  return exponent * 0.693147181f + (series * t * s + 2.0f * s);
}

// x as a power of two, ``scale``, and a rest of at most log(2) / 2 for which ``series`` is (exp(rest) - 1) / rest.
struct Exponent {
  double scale, rest, series;
};

INLINE Exponent exponent_of(double x) {
  constexpr double ROUNDER = 6755399441055744.0; // 1.5 * 2^52
  const double bounded = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x);
  const double shifted = bounded * 1.4426950408889634 + ROUNDER;
  const double whole = shifted - ROUNDER;
  const double rest = (bounded - whole * 6.93145751953125e-1) - whole * 1.42860682030941723212e-6;
  double series = 1.0 / 39916800;
  series = series * rest + 1.0 / 3628800;
  series = series * rest + 1.0 / 362880;
  series = series * rest + 1.0 / 40320;
  series = series * rest + 1.0 / 5040;
  series = series * rest + 1.0 / 720;
  series = series * rest + 1.0 / 120;
  series = series * rest + 1.0 / 24;
  series = series * rest + 1.0 / 6;
  series = series * rest + 0.5;
  series = series * rest + 1.0;
  const auto exponent = same_bits<int64_t>(shifted) - same_bits<int64_t>(ROUNDER) + 1023;
  return {same_bits<double>(exponent << 52), rest, series};
}

INLINE double exp(double x) {
  const auto [scale, rest, series] = exponent_of(x);
  return x < -708.0 ? 0.0 : (x > 709.0 ? INFINITE : (series * rest + 1.0) * scale);
}

INLINE double expm1(double x) {
  const auto [scale, rest, series] = exponent_of(x);
  return x < -708.0 ? -1.0 : (x > 709.0 ? INFINITE : series * rest * scale + (scale - 1.0));
}

// log(x + missing), where ``missing`` is what x lost by rounding.
INLINE double log_of_sum(double x, double missing) {
  constexpr int64_t CENTRE = 0x3fe6a09e667f3bcd; // sqrt(1/2)
  constexpr int64_t WHOLE = 0x4330000000000000; // 2^52, whose last bits count
  const auto bits = same_bits<int64_t>(x) - CENTRE + (int64_t{1023} << 52);
  const double exponent = same_bits<double>((bits >> 52) | WHOLE) - 4503599627370496.0 - 1023.0;
  const double mantissa = same_bits<double>((bits & 0xfffffffffffff) + CENTRE);
  const double per_scale = same_bits<double>((2046 - (bits >> 52)) << 52);
  const double above = (mantissa - 1.0) + missing * per_scale;
  const double s = above / (above + 2.0), t = s * s;
  double series = 2.0 / 17;
  series = series * t + 2.0 / 15;
  series = series * t + 2.0 / 13;
  series = series * t + 2.0 / 11;
  series = series * t + 2.0 / 9;
  series = series * t + 2.0 / 7;
  series = series * t + 2.0 / 5;
  series = series * t + 2.0 / 3;
  const double found = exponent * 0.6931471805599453 + (series * t * s + 2.0 * s);
  const double usual = x < INFINITE ? found : x; // inf and nan
  return x > 0.0 ? (x < 2.3e-308 ? -708.0 : usual) : (x == 0.0 ? -INFINITE : NOT_A_NUMBER);
}

INLINE double log(double x) { return log_of_sum(x, 0.0); }

INLINE double log1p(double x) {
  const double up = 1.0 + x;
  return log_of_sum(up, x < INFINITE ? x - (up - 1.0) : 0.0);
}

INLINE double sigmoid(double x) {
  const double low = exp(-std::fabs(x));
  return (x >= 0.0 ? 1.0 : low) / (1.0 + low);
}

INLINE double logsigmoid(double x) {
  return (x < 0.0 ? x : 0.0) - log1p(exp(-std::fabs(x)));
}

// Of bases that are not negative; nan otherwise, as a real power is.
INLINE double power(double base, double exponent) {
  const double found = exp(exponent * log(base));
  return base == 0.0 ? (exponent > 0.0 ? 0.0 : INFINITE) : found;
}

} // namespace noiseproof
