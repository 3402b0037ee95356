// How numbers are written, for functions that work on their bits: a Vector of floats, or Doubles.
#pragma once

#include "bounds.h"

// A loop over a function is only turned into vector code if the function is inside it.
#define INLINE inline __attribute__((always_inline))

namespace noiseproof {

// The highest bits hold sign and exponent, ``BIAS`` more than it is.
template <class T>
struct Format;

template <>
struct Format<Doubles> {
  using Number = double;
  using Bits = Wholes;
  static constexpr int MANTISSA = 52, EXP_TERMS = 11, LOG_TERMS = 8;
  static constexpr int64_t BIAS = 1023, CENTRE = 0x3fe6a09e667f3bcd, ROUNDER_BITS = 0x4338000000000000;
  static constexpr double ROUNDER = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to a whole number
  static constexpr double LOG2_HIGH = 6.93145751953125e-1, LOG2_LOW = 1.42860682030941723212e-6;
  static constexpr double SMALLEST = 2.3e-308, LEAST = -708, MOST = 709; // exp works from LEAST to MOST
  static constexpr double LAST_TERM = 1.0 / 39916800;
};

template <>
struct Format<Vector> {
  using Number = float;
  using Bits = Whole;
  static constexpr int MANTISSA = 23, EXP_TERMS = 6, LOG_TERMS = 4;
  static constexpr int32_t BIAS = 127, CENTRE = 0x3f3504f3, ROUNDER_BITS = 0x4b400000;
  static constexpr float ROUNDER = 12582912.0f;
  static constexpr float LOG2_HIGH = 0.693359375f, LOG2_LOW = -2.12194440e-4f;
  static constexpr float SMALLEST = 1.2e-38f, LEAST = -87, MOST = 88;
  static constexpr float LAST_TERM = 1.0f / 700; // 1/720 and a little of what is left out
};

template <class T>
using NumberOf = typename Format<T>::Number;

template <class T>
INLINE T filled(double number) {
  return T{} + static_cast<NumberOf<T>>(number);
}

} // namespace noiseproof
