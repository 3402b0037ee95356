// The focal loss of every class: -(1-p)^gamma log p, and minus its slope in log p.
#pragma once

#include <array>

#include "classes.h"

namespace noiseproof {

// (1-p)^exponent of shares p up to ``most`` as a polynomial, good to every digit of a float.
template <int64_t TERMS>
struct PowerSeries {
  float most = 0;
  std::array<float, TERMS> series{};

  PowerSeries() = default;

  // By Chebyshev polynomials of 2 p / most - 1, which runs from -1 to 1, written as powers of p.
  PowerSeries(double exponent, double largest) : most(static_cast<float>(largest)) {
    std::array<double, TERMS> chebyshev{}, before{1}, now{-1, 2 / largest}, sum{};
    constexpr double PI = 3.14159265358979323846;
    for (int64_t k = 0; k < TERMS; ++k)
      for (int64_t i = 0; i < TERMS; ++i) {
        const double angle = PI * (i + 0.5) / TERMS, p = (1 + std::cos(angle)) * largest / 2;
        chebyshev[k] += (k ? 2.0 : 1.0) / TERMS * std::pow(1 - p, exponent) * std::cos(k * angle);
      }
    for (int64_t k = 0; k < TERMS; ++k) {
      for (int64_t i = 0; i < TERMS; ++i) sum[i] += chebyshev[k] * before[i];
      std::array<double, TERMS> next{};
      for (int64_t i = 0; i < TERMS; ++i) next[i] = (i ? 4 / largest * now[i - 1] : 0) - 2 * now[i] - before[i];
      before = now;
      now = next;
    }
    std::copy(sum.begin(), sum.end(), series.begin());
  }

  INLINE Vector operator()(Vector p) const {
    Vector found = all(series[TERMS - 1]);
#pragma GCC unroll 16
    for (int64_t k = TERMS - 2; k >= 0; --k) found = found * p + series[k];
    return found;
  }
};

// (1-p)^(gamma-1), by what is cheapest for the shares of a row.
struct Focus {
  static constexpr double FARTHEST = 2; // polynomials of so few terms follow powers from -1 to 2
  double gamma = -1; // below 0: no focal loss
  PowerSeries<3> exact; // where gamma is 1, 2 or 3
  PowerSeries<4> narrow;
  PowerSeries<5> low;
  PowerSeries<7> middle;
  PowerSeries<10> wide;

  Focus() = default;
  explicit Focus(double given)
      : gamma(given), exact(given - 1, 0.5), narrow(given - 1, 1.0 / 16), low(given - 1, 0.125),
        middle(given - 1, 0.25), wide(given - 1, 0.5) {}

  bool is_polynomial() const { return std::fabs(gamma - 1) <= FARTHEST; }
  bool is_exact() const { return gamma == 1 || gamma == 2 || gamma == 3; }
};

// The slope and the row are copies: what is written to z might be theirs otherwise, and be read anew for every class.
template <bool PRIOR, class Slope>
inline ClassSums focal_sums_with(Slope slope_of, float gamma, float* z, const float* e, const float* prior,
                                 int64_t n, ClassScale row) {
  return add_classes<PRIOR>(z, prior, n, [=](int64_t j, Vector low) {
    const Vector p = read(e + j) * row.per_mass, slope = slope_of(p), cost = row.log_mass - low;
    const Vector high = (1.0f - p) * slope;
    return ClassTerms{high * cost, high + gamma * p * cost * slope};
  });
}

template <bool PRIOR>
inline ClassSums focal_sums(const Focus& focus, float* z, const float* e, const float* prior, int64_t n,
                            const ClassScale& row) {
  const auto gamma = static_cast<float>(focus.gamma);
  if (!focus.is_polynomial()) {
    const auto power = [=](Vector p) { return raised(log(1.0f - p) * (gamma - 1)); };
    return focal_sums_with<PRIOR>(power, gamma, z, e, prior, n, row);
  }
  const auto with = [=](const auto& slope) {
    return focal_sums_with<PRIOR>(slope, gamma, z, e, prior, n, row);
  };
  if (focus.is_exact()) return with(focus.exact);
  if (row.largest <= focus.narrow.most) return with(focus.narrow);
  if (row.largest <= focus.low.most) return with(focus.low);
  return row.largest <= focus.middle.most ? with(focus.middle) : with(focus.wide);
}

} // namespace noiseproof
