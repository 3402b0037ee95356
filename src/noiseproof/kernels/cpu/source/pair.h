// A block of rows under two labels each: logits and exponentials are read once.
#pragma once

#include "pair_lanes.h"

namespace noiseproof {

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
  float* shifted(int64_t lane) const { return space.second(lane); }
  int64_t second(int64_t i) const { return beside.peers->second[i]; }

  // The row into scratch memory, and the largest logit beside the labels.
  float start(int64_t i) const {
    return i < end && labels.kept(i) ? load<true>(logits, i, {labels.target[i], second(i)}, z(i - begin)) : 0;
  }

  void read_row(int64_t i, float peak, PairLanes& lanes) const {
    const int64_t k = i - begin, label = labels.target[i];
    const float own = logits.at(i, label);
    lanes.peak[k] = peak;
    const Ahead ahead(logits, i, results.gradient);
    lanes.read(k, loss.sums(z(k), padded(logits.classes), peak == LOWEST ? 0 : peak, own, ahead, shifted(k)));
    lanes.sides[0].scale[k] = results.scale_of(i);
    lanes.sides[1].scale[k] = -beside.peers->alpha * results.scale_of(beside.peers->origin[i]);
    lanes.sides[0].own[k] = own;
    lanes.sides[1].own[k] = logits.at(i, second(i));
    if (label == second(i)) return;
    lanes.sides[0].other[k] = lanes.sides[1].own[k];
    lanes.sides[1].other[k] = own;
  }

  // The loss under one label.
  double run_side(int64_t number, int64_t n, PairLanes& lanes) const {
    OneSide& side = lanes.sides[number];
    float* values = number ? results.weights : results.values;
    double finite = 0;
    lanes.complete(side, n);
    lanes.write_inputs(side, n, loss.margin_alone, space.registers);
    complete_inputs(loss, n, space);
    run(loss.program, n, space.registers);
    const double* found = space.registers[loss.program.outputs[0]];
    for (int64_t i = begin; values && i < end; ++i)
      values[i] = labels.kept(i) ? static_cast<float>(found[i - begin]) : 0.0f;
    for (int64_t k = 0; k < n; ++k) finite += side.margin[k] * 0.0;
    lanes.take_partials(number, loss, space, n);
    return finite;
  }

  void write_gradient(int64_t i, const PairLanes& lanes) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t k = i - begin, label = labels.target[i], other = second(i);
    const auto& [here, there] = lanes.sides;
    const auto& [at_label, others, square, product, shift] = space.chosen;
    const double per_e = here.per_e[k], slope = lanes.second_slope[k];
    const Coefficients c{at_label[k], others[k] * per_e - slope * there.per_e[k], square[k] * per_e * per_e,
                         product[k] * per_e, shift[k]};
    const auto put = [=](int64_t j, double number) { out[j] = static_cast<Number>(static_cast<float>(number)); };
    descend(z(k), shifted(k), c, logits.classes, out);
    if (const int64_t top = lanes.top[k]; top >= 0)
      put(top, c.others + c.square + (shifted(k) ? c.product * shifted(k)[top] : 0) + c.shift);
    if (c.shift != 0 && lanes.classes[k] + (label == other ? 1 : 2) < logits.classes) clear_masked(logits, i, out);
    put(label, c.at_label + (label == other ? slope : -slope * there.at_other[k]));
    if (label == other) return;
    const double share = here.at_other[k], apart = here.other[k] - here.own[k];
    put(other, slope + share * (others[k] + square[k] * share + product[k] * apart) + c.shift);
  }

  bool run_all() const {
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    PairLanes lanes;
    float next = start(begin);
    for (int64_t i = begin; i < end; ++i) {
      const float peak = std::exchange(next, start(i + 1));
      if (labels.kept(i)) read_row(i, peak, lanes);
    }
    const double finite = run_side(1, n, lanes) + run_side(0, n, lanes);
    if (!results.gradient) return finite == 0;
    const auto& [margin, logsumexp, sum_z, squares, products] = lanes.partials;
    chain(loss, n, {margin, logsumexp, sum_z, squares, products}, space); // relative to the first label, still there
    for (int64_t i = begin; i < end; ++i) write_gradient(i, lanes);
    return finite == 0;
  }
};

} // namespace noiseproof
