// Normalised focal loss of one row: it looks at the focal loss of every class, not at sums over the row alone.
#pragma once

#include "rows.h"

namespace noiseproof {

// p, the focal value F = -(1-p)^gamma log p, and R = (1-p)^gamma + gamma p F / (1-p), minus its slope in log p.
// With a_k = R_k dloss/dF_k the gradient of the loss is p_j sum(a) - a_j.
struct FocalClass {
  double p = 0, value = 0, ratio = 0;
};

// The likeliest class, whose 1 - p is what the others add up to.
inline FocalClass likeliest(double tail, double gamma) {
  const double p = 1 / (1 + tail), rest = std::max(tail / (1 + tail), 1e-38);
  const double focus = std::pow(rest, gamma), value = focus * std::log1p(tail);
  return {p, value, focus + gamma * p * value / rest};
}

// Four arrays as long as a padded row.
struct FocalSpace {
  float *e, *low, *value, *ratio; // exp(z - peak), z - peak, and the numbers of FocalClass
};

// Values and ratios of all classes from e and low; a class with low = -inf gets 0. The sums of both.
inline std::pair<double, double> focal_classes(const FocalSpace& s, int64_t n, double mass, double gamma) {
  const auto per_mass = static_cast<float>(1 / mass), log_mass = static_cast<float>(std::log(mass));
  const auto power = static_cast<float>(gamma);
  const double values = total(n, [&](int64_t j) {
    const Vector low = read(s.low + j), p = read(s.e + j) * per_mass, rest = 1.0f - p;
    const Vector focus = raised(logarithm(rest) * power);
    const Vector value = low == LOWEST ? all(0.0f) : focus * (log_mass - low);
    const Vector ratio = focus + power * p * value / rest;
    write(s.value + j, value);
    write(s.ratio + j, low == LOWEST ? all(0.0f) : ratio);
    return value;
  });
  return {values, total(n, [&](int64_t j) { return read(s.ratio + j); })};
}

// The loss of row i; its gradient times ``scale`` goes to ``out`` unless that is null.
template <class Number>
double focal_row(
    const Logits<Number>& logits, int64_t i, int64_t label, double gamma, const FocalSpace& s, double scale, Number* out) {
  const int64_t n = padded(logits.classes);
  const float peak = load(logits, i, -1, s.e), own = logits.at(i, label);
  if (!std::isfinite(own)) return NOT_A_NUMBER;
  const int64_t top = std::find(s.e, s.e + n - 1, peak) - s.e;
  s.e[top] = peak == peak ? LOWEST : peak;
  for (int64_t j = 0; j < n; j += WIDTH) write(s.low + j, read(s.e + j) - peak);
  const double tail = raise(s.e, n, peak);
  auto [values, ratios] = focal_classes(s, n, 1 + tail, gamma);
  const FocalClass first = likeliest(tail, gamma);
  values += first.value;
  ratios += first.ratio;
  const double found = (label == top ? first.value : s.value[label]) / values;
  const double at_label = label == top ? first.ratio : s.ratio[label];
  if (!out) return found;
  const double others = -found / values, extra = at_label / values; // slopes a_k, and what the label has more
  const double sum = others * ratios + extra;
  const auto by_p = static_cast<float>(sum * scale / (1 + tail)), by_ratio = static_cast<float>(others * scale);
  for (int64_t j = 0; j < logits.classes; ++j) out[j] = static_cast<Number>(s.e[j] * by_p - s.ratio[j] * by_ratio);
  const auto exact = [&](int64_t j, double p, double ratio) {
    out[j] = static_cast<Number>(static_cast<float>(scale * (p * sum - others * ratio - (j == label ? extra : 0))));
  };
  if (label != top) exact(label, s.e[label] / (1 + tail), s.ratio[label]);
  exact(top, first.p, first.ratio);
  return found;
}

} // namespace noiseproof
