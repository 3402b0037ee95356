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

// Numbers per row: the likeliest class, whose 1 - p is what the others, ``tail``, add up to, the label, and sums
// of values and ratios over the other classes.
struct alignas(64) FocalLanes {
  Register tail, log_mass, value, ratio, own_low, own_value, own_ratio; // own_low: z - peak of the label
  Register values, ratios, loss, slope, extra, total; // slope: all a_k / R_k; extra: what the label's a_k has more
  Register apart; // 1 where the label is not the likeliest class, else 0
  std::array<int64_t, BLOCK> top;
  std::array<float, BLOCK> peak;

  FocalLanes() {
    std::fill_n(tail, BLOCK, 1.0);
    for (double* each : {own_low, values, ratios, apart}) std::fill_n(each, BLOCK, 0.0);
  }

  void complete(int64_t n, double gamma) {
    for (int64_t k = 0; k < n; ++k) {
      const double p = 1 / (1 + tail[k]), rest = std::max(tail[k] * p, 1e-38), focus = power(rest, gamma);
      const double own_p = p * exp(own_low[k]), own_focus = power(1 - own_p, gamma);
      log_mass[k] = log1p(tail[k]);
      value[k] = focus * log_mass[k];
      ratio[k] = focus + gamma * p * value[k] / rest;
      const double cost = own_focus * (log_mass[k] - own_low[k]);
      const double steep = own_focus + gamma * own_p * cost / (1 - own_p);
      own_value[k] = apart[k] != 0 ? cost : value[k];
      own_ratio[k] = apart[k] != 0 ? steep : ratio[k];
    }
  }

  // 0 times the sum of all losses, which is nan if one of them is not finite.
  double finish(int64_t n) {
    double finite = 0;
    for (int64_t k = 0; k < n; ++k) {
      const double values_of_all = values[k] + value[k] + apart[k] * own_value[k];
      const double ratios_of_all = ratios[k] + ratio[k] + apart[k] * own_ratio[k];
      loss[k] = own_value[k] / values_of_all;
      slope[k] = -loss[k] / values_of_all;
      extra[k] = own_ratio[k] / values_of_all;
      total[k] = slope[k] * ratios_of_all + extra[k];
      finite += loss[k] * 0.0;
    }
    return finite;
  }
};

// e becomes exp(z - peak); what they add up to.
inline double focal_start(const float* z, float* e, int64_t n, float peak) {
  double found = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector chunk{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector here = raised(read(z + j) - peak);
      write(e + j, here);
      chunk += here;
    }
    found += sum(chunk);
  }
  return found;
}

// z becomes the ratio of every class, 0 for those that are -inf; sums over the others.
template <bool POLYNOMIAL>
inline void focal_sums(
    float* z, const float* e, int64_t n, const Focus& focus, FocalLanes& lanes, int64_t lane) {
  const auto per_mass = static_cast<float>(1 / (1 + lanes.tail[lane])), gamma = static_cast<float>(focus.gamma);
  const auto level = static_cast<float>(lanes.log_mass[lane]), peak = lanes.peak[lane];
  double all_values = 0, all_ratios = 0;
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
    all_values += sum(values);
    all_ratios += sum(ratios);
  }
  lanes.values[lane] = all_values;
  lanes.ratios[lane] = all_ratios;
}

// The gradient of a row times ``scale``. z holds the ratios.
template <class Number>
inline void focal_gradient(
    const float* z, const float* e, int64_t classes, int64_t label, const FocalLanes& lanes, int64_t lane,
    double scale, Number* out) {
  const double slope = lanes.slope[lane], total = lanes.total[lane], mass = 1 + lanes.tail[lane];
  const auto by_p = static_cast<float>(total * scale / mass), by_ratio = static_cast<float>(slope * scale);
  fill(out, classes, [=](int64_t j) { return read(e + j) * by_p - read(z + j) * by_ratio; });
  const auto exact = [&](int64_t j, double p, double ratio) {
    const double extra = j == label ? lanes.extra[lane] : 0;
    out[j] = static_cast<Number>(static_cast<float>(scale * (p * total - slope * ratio - extra)));
  };
  exact(label, e[label] / mass, lanes.own_ratio[lane]);
  exact(lanes.top[lane], 1 / mass, lanes.ratio[lane]);
}

} // namespace noiseproof
