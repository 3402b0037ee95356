// The larger of numbers, and numbers kept within bounds.
#pragma once

#include "doubles.h"

namespace noiseproof {

// The larger of two, ``b`` where ``a`` is nan. GCC makes six instructions of a comparison on ARM, which has one for it.
inline Vector larger(Vector a, Vector b) {
#ifdef __aarch64__
  return same_bits<Vector>(vmaxnmq_f32(same_bits<float32x4_t>(a), same_bits<float32x4_t>(b)));
#else
  return a > b ? a : b;
#endif
}

// Nothing below, or above, ``bound``; nan stays nan.
#ifdef __aarch64__
inline Vector at_least(float bound, Vector a) {
  return same_bits<Vector>(vmaxq_f32(same_bits<float32x4_t>(a), vdupq_n_f32(bound)));
}
inline Vector at_most(float bound, Vector a) {
  return same_bits<Vector>(vminq_f32(same_bits<float32x4_t>(a), vdupq_n_f32(bound)));
}
inline Doubles at_least(double bound, Doubles a) {
  return same_bits<Doubles>(vmaxq_f64(same_bits<float64x2_t>(a), vdupq_n_f64(bound)));
}
inline Doubles at_most(double bound, Doubles a) {
  return same_bits<Doubles>(vminq_f64(same_bits<float64x2_t>(a), vdupq_n_f64(bound)));
}
#else
inline Vector at_least(float bound, Vector a) { return a < bound ? all(bound) : a; }
inline Vector at_most(float bound, Vector a) { return a > bound ? all(bound) : a; }
inline Doubles at_least(double bound, Doubles a) { return a < bound ? bound : a; }
inline Doubles at_most(double bound, Doubles a) { return a > bound ? bound : a; }
#endif

} // namespace noiseproof
