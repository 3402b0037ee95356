// A block of rows through statistics, program and gradient.
#pragma once

#include "workspace.h"

namespace noiseproof {

// A block of rows, at most as many as a register is long.
template <class Number>
struct Block {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const Results<Number>& results;
  const Beside& beside;
  Workspace& space;
  int64_t begin, end;

  float* z(int64_t lane) const { return space.z(lane); }
  float* shifted(int64_t lane) const { return space.second(lane); }

  // The row into scratch memory, and the largest logit beside the label.
  float start(int64_t i) const {
    return i < end && labels.kept(i) ? load(logits, i, {labels.target[i]}, z(i - begin)) : 0;
  }

  // Sums and margins; false if a margin is not finite. Ignored rows get margin 0.
  bool read_rows() const {
    double* const* r = space.registers;
    Register above, mass;
    for (int64_t k = 0; k < loss.program.inputs; ++k) std::fill_n(r[k], BLOCK, 0.0);
    std::fill_n(above, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
    float next = start(begin);
    for (int64_t i = begin; i < end; ++i) {
      const float peak = std::exchange(next, start(i + 1));
      if (!labels.kept(i)) continue;
      const int64_t lane = i - begin;
      const float own = logits.at(i, labels.target[i]);
      const Ahead ahead(logits, i, results.gradient);
      const Sums row = loss.sums(z(lane), padded(logits.classes), peak, own, ahead, shifted(lane));
      space.sums[lane] = row;
      above[lane] = own - row.peak;
      mass[lane] = row.mass;
      if (loss.margin_alone) continue;
      r[2][lane] = row.sum_z;
      r[3][lane] = row.squares;
      r[4][lane] = row.products;
      r[5][lane] = row.classes;
    }
    double finite = 0;
    for (int64_t k = 0; k < BLOCK; k += PER_STEP) put(r[0] + k, step_of(above + k) - log(step_of(mass + k)));
    for (int64_t k = 0; k < BLOCK; ++k) finite += r[0][k] * 0.0;
    return finite == 0;
  }

  void write_values() const {
    const double *found = space.registers[loss.program.outputs[0]], *slope = space.partial(loss, 0);
    for (int64_t i = begin; i < end; ++i) {
      results.values[i] = labels.kept(i) ? static_cast<float>(found[i - begin]) : 0.0f;
      if (results.weights) results.weights[i] = labels.kept(i) ? static_cast<float>(-slope[i - begin]) : 0.0f;
    }
  }

  void write_gradient(int64_t i) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t lane = i - begin;
    const Sums& row = space.sums[lane];
    const auto& [at_label, others, square, product, shift] = space.chosen;
    const double scale = results.scale_of(i), by_mass = scale / row.mass;
    const Coefficients c{at_label[lane] * scale, others[lane] * by_mass, square[lane] * by_mass / row.mass,
                         product[lane] * by_mass, shift[lane] * scale};
    descend(z(lane), shifted(lane), c, logits.classes, out);
    if (row.top >= 0) {
      const double at_top = shifted(lane) ? shifted(lane)[row.top] : 0;
      out[row.top] = static_cast<Number>(static_cast<float>(c.others + c.square + c.product * at_top + c.shift));
    }
    if (c.shift != 0 && row.classes < logits.classes) clear_masked(logits, i, out);
    out[labels.target[i]] = static_cast<Number>(static_cast<float>(c.at_label));
  }

  bool run_all() const {
    const bool finite = read_rows();
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    complete_inputs(loss, n, space);
    run(loss.program, n, space.registers);
    if (results.values) write_values();
    if (!results.gradient) return finite;
    chain(loss, n, space.partials(loss), space);
    for (int64_t i = begin; i < end; ++i) write_gradient(i);
    return finite;
  }
};

} // namespace noiseproof
