// A block of rows under two labels each, for losses of the margin alone: logits and exponentials are read once.
#pragma once

#include "workspace.h"

namespace noiseproof {

// Numbers per row. Of the classes that are neither label: the largest logit and the sum of exp(z - peak).
struct alignas(64) PairLanes {
  Register peak, mass;
  std::array<Register, 2> own, other; // the labels' logits; other: -inf where both labels are the same
  std::array<Register, 2> margin, per_e, at_other, slope;
  // With those two the softmax over all but the label is per_e * e, and at_other at the other label.

  PairLanes() {
    std::fill_n(peak, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
    for (auto& side : own) std::fill_n(side, BLOCK, 0.0);
    for (auto& side : other) std::fill_n(side, BLOCK, -INFINITE);
  }

  // Margins of one side; no term of the sum over the others is ever subtracted.
  template <int64_t SIDE>
  void complete(int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      const double beside = other[SIDE][k], high = peak[k] > beside ? peak[k] : beside;
      const double part = exp(peak[k] - high), extra = exp(beside - high), total = mass[k] * part + extra;
      margin[SIDE][k] = own[SIDE][k] - high - log(total);
      per_e[SIDE][k] = part / total;
      at_other[SIDE][k] = extra / total;
    }
  }
};

template <class Number>
struct PairBlock {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const Results<Number>& results; // weights: values under the second label
  const Beside& beside;
  Workspace& space;
  int64_t begin, end;

  float* z(int64_t lane) const { return space.z(lane); }
  int64_t second(int64_t i) const { return beside.peers->second[i]; }

  void read_rows(PairLanes& lanes) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t lane = i - begin, label = labels.target[i];
      if (!labels.kept(i)) continue;
      const float peak = load<true>(logits, i, {label, second(i)}, z(lane));
      lanes.peak[lane] = peak;
      lanes.mass[lane] = loss.sums(z(lane), padded(logits.classes), peak == LOWEST ? 0 : peak, 0, nullptr).mass;
      lanes.own[0][lane] = logits.at(i, label);
      lanes.own[1][lane] = logits.at(i, second(i));
      if (label == second(i)) continue;
      lanes.other[0][lane] = lanes.own[1][lane];
      lanes.other[1][lane] = lanes.own[0][lane];
    }
  }

  void write_gradient(int64_t i, const PairLanes& lanes) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t k = i - begin, label = labels.target[i];
    const double scales[2] = {results.scale_of(i), -beside.peers->alpha * results.scale_of(beside.peers->origin[i])};
    const double slopes[2] = {lanes.slope[0][k] * scales[0], lanes.slope[1][k] * scales[1]};
    const auto by_e = static_cast<float>(-slopes[0] * lanes.per_e[0][k] - slopes[1] * lanes.per_e[1][k]);
    const float* e = z(k);
    fill(out, logits.classes, [=](int64_t j) { return read(e + j) * by_e; });
    const double first = slopes[0] - slopes[1] * lanes.at_other[1][k];
    const double other = slopes[1] - slopes[0] * lanes.at_other[0][k];
    const bool same = label == second(i);
    out[label] = static_cast<Number>(static_cast<float>(same ? slopes[0] + slopes[1] : first));
    if (!same) out[second(i)] = static_cast<Number>(static_cast<float>(other));
  }

  void write_values(int64_t side, const double* value, const double* slope, PairLanes& lanes) const {
    float* values = side ? results.weights : results.values;
    std::copy_n(slope, BLOCK, lanes.slope[side]);
    if (!values) return;
    for (int64_t i = begin; i < end; ++i)
      values[i] = labels.kept(i) ? static_cast<float>(value[i - begin]) : 0.0f;
  }

  bool run_all() const {
    PairLanes lanes;
    read_rows(lanes);
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    lanes.complete<0>(n);
    lanes.complete<1>(n);
    double finite = 0;
    for (int64_t side = 0; side < 2; ++side) {
      std::copy_n(lanes.margin[side], n, space.registers[0]);
      for (int64_t k = 0; k < n; ++k) finite += lanes.margin[side][k] * 0.0;
      run(loss.program, n, space.registers);
      write_values(side, space.registers[loss.program.outputs[0]], space.partial(loss, 0), lanes);
    }
    if (results.gradient)
      for (int64_t i = begin; i < end; ++i) write_gradient(i, lanes);
    return finite == 0;
  }
};

} // namespace noiseproof
