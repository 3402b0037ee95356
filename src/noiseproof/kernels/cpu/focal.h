// Normalised focal loss: it looks at the focal loss of every class, not at sums over the row alone.
//
// With the focal value F = -(1-p)^gamma log p, the ratio R = (1-p)^gamma + gamma p F / (1-p), minus the slope of F
// in log p, and a_k = R_k dloss/dF_k the gradient of the loss is p_j sum(a) - a_j.
#pragma once

#include <array>

#include "program.h"
#include "rows.h"

namespace noiseproof {

// (1-p)^(gamma-1) of shares up to 1/2, which all but the likeliest class have.
struct Focus {
  static constexpr int64_t TERMS = 11;
  static constexpr double FARTHEST = 2; // a polynomial follows powers from -2 to 2 to every digit of a float
  double gamma = 0;
  std::array<float, TERMS> series{}; // in x = 4p - 1, which runs from -1 to 1

  explicit Focus(double given = 0) : gamma(given) {
    if (!is_polynomial()) return;
    std::array<double, TERMS> chebyshev{}, before{1}, now{0, 1}, sum{};
    constexpr double PI = 3.14159265358979323846;
    for (int64_t k = 0; k < TERMS; ++k)
      for (int64_t i = 0; i < TERMS; ++i) {
        const double angle = PI * (i + 0.5) / TERMS, p = (1 + std::cos(angle)) / 4;
        chebyshev[k] += (k ? 2.0 : 1.0) / TERMS * std::pow(1 - p, gamma - 1) * std::cos(k * angle);
      }
    for (int64_t k = 0; k < TERMS; ++k) {
      for (int64_t i = 0; i < TERMS; ++i) sum[i] += chebyshev[k] * before[i];
      std::array<double, TERMS> next{};
      for (int64_t i = 0; i < TERMS; ++i) next[i] = (i ? 2 * now[i - 1] : 0) - before[i];
      before = now;
      now = next;
    }
    std::copy(sum.begin(), sum.end(), series.begin());
  }

  bool is_polynomial() const { return std::fabs(gamma - 1) <= FARTHEST; }

  template <bool POLYNOMIAL>
  INLINE Vector slope(Vector p) const {
    if constexpr (!POLYNOMIAL) return raised(logarithm(1.0f - p) * static_cast<float>(gamma - 1));
    const Vector x = 4.0f * p - 1.0f;
    Vector found = all(series[TERMS - 1]);
    for (int64_t k = TERMS - 2; k >= 0; --k) found = found * x + series[k];
    return found;
  }
};

// Numbers per row: the likeliest class, whose 1 - p is what the others, ``tail``, add up to, and the label.
struct FocalLanes {
  Register tail, log_mass, value, ratio, own_low, own_value, own_ratio; // own_low: z - peak of the label
  std::array<int64_t, BLOCK> top;
  std::array<float, BLOCK> peak;

  FocalLanes() {
    std::fill_n(tail, BLOCK, 1.0);
    std::fill_n(own_low, BLOCK, 0.0);
  }

  void complete(int64_t n, double gamma) {
    for (int64_t k = 0; k < n; ++k) {
      const double p = 1 / (1 + tail[k]), rest = std::max(tail[k] * p, 1e-38), focus = power(rest, gamma);
      const double own_p = p * exp(own_low[k]), own_focus = power(1 - own_p, gamma);
      log_mass[k] = log1p(tail[k]);
      value[k] = focus * log_mass[k];
      ratio[k] = focus + gamma * p * value[k] / rest;
      own_value[k] = own_focus * (log_mass[k] - own_low[k]);
      own_ratio[k] = own_focus + gamma * own_p * own_value[k] / (1 - own_p);
    }
  }
};

// e becomes exp(z - peak) of a loaded row; what they add up to but for the likeliest, and which that is.
inline std::pair<double, int64_t> focal_start(const float* z, float* e, int64_t n, float peak) {
  double tail = 0, ties = 0;
  Whole places = Whole{} - 1;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector chunk{}, equal{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector here = read(z + j), found = raised(here - peak);
      write(e + j, found);
      chunk += here == peak ? all(0.0f) : found;
      equal += here == peak ? all(1.0f) : all(0.0f);
      places = here == peak ? positions(j) : places;
    }
    tail += sum(chunk);
    ties += sum(equal);
  }
  return {tail + (ties - 1), std::max(largest(places), 0)};
}

struct FocalSums {
  double values = 0, ratios = 0;
};

// z becomes the ratio of every class, 0 for those that are -inf; sums over the others.
template <bool POLYNOMIAL>
inline FocalSums focal_sums(
    float* z, const float* e, int64_t n, const Focus& focus, const FocalLanes& lanes, int64_t lane) {
  const auto per_mass = static_cast<float>(1 / (1 + lanes.tail[lane])), gamma = static_cast<float>(focus.gamma);
  const auto level = static_cast<float>(lanes.log_mass[lane]), peak = lanes.peak[lane];
  FocalSums found;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector values{}, ratios{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector here = read(z + j), p = read(e + j) * per_mass, slope = focus.slope<POLYNOMIAL>(p);
      const Vector cost = level - (here - peak), high = (1.0f - p) * slope;
      const Whole counts = here != LOWEST;
      const Vector ratio = counts ? high + gamma * p * cost * slope : all(0.0f);
      values += counts ? high * cost : all(0.0f);
      ratios += ratio;
      write(z + j, ratio);
    }
    found.values += sum(values);
    found.ratios += sum(ratios);
  }
  return found;
}

// The loss of a row; its gradient times ``scale`` goes to ``out`` unless that is null. z holds the ratios.
template <class Number>
inline double focal_finish(
    const float* z, const float* e, int64_t classes, int64_t label, const FocalLanes& lanes, int64_t lane,
    const FocalSums& sums, double scale, Number* out) {
  const int64_t top = lanes.top[lane];
  const double own_value = (label == top ? lanes.value : lanes.own_value)[lane];
  const double own_ratio = (label == top ? lanes.ratio : lanes.own_ratio)[lane];
  const double values = sums.values + lanes.value[lane] + (label == top ? 0 : own_value);
  const double ratios = sums.ratios + lanes.ratio[lane] + (label == top ? 0 : own_ratio);
  const double found = own_value / values;
  if (!out) return found;
  const double others = -found / values, extra = own_ratio / values; // slopes a_k, and what the label has more
  const double total = others * ratios + extra, mass = 1 + lanes.tail[lane];
  const auto by_p = static_cast<float>(total * scale / mass), by_ratio = static_cast<float>(others * scale);
  fill(out, classes, [=](int64_t j) { return read(e + j) * by_p - read(z + j) * by_ratio; });
  const auto exact = [&](int64_t j, double p, double ratio) {
    out[j] = static_cast<Number>(static_cast<float>(scale * (p * total - others * ratio - (j == label ? extra : 0))));
  };
  if (label != top) exact(label, e[label] / mass, own_ratio);
  exact(top, 1 / mass, lanes.ratio[lane]);
  return found;
}

} // namespace noiseproof
