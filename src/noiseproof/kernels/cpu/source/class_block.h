// What blocks of losses that look at every class are made of.
#pragma once

#include "every_class_lanes.h"
#include "workspace.h"

namespace noiseproof {

template <class Number>
struct ClassBlock {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const Results<Number>& results; // weights: values under the second label
  const Beside& beside;
  Workspace& space;
  int64_t begin, end;

  int64_t sides() const { return beside.peers ? 2 : 1; }

  void run_exactly(const double* margin, int64_t n, double* value, double* emphasis) const {
    double* const* r = space.registers;
    const Program& program = loss.classes.exact;
    inputs_of(margin, n, r);
    run(program, n, r);
    std::copy_n(r[program.outputs[0]], n, value);
    std::copy_n(r[program.outputs[2]], n, emphasis);
  }

  bool adds_sums() const { return loss.added && !loss.added->margin_alone; }

  // The loss of row statistics that is added: of the margin, and maybe of the logsumexp and of the sum of z.
  void run_added(const EveryLanes& lanes, OneClass& one, int64_t n) const {
    double* const* r = space.added_registers.places.data();
    const RowProgram& added = *loss.added;
    std::copy_n(one.margin, n, r[0]);
    if (adds_sums()) lanes.inputs_of_sums(one, n, r);
    run(added.program, n, r);
    std::copy_n(r[added.program.outputs[0]], n, one.more);
    const auto slope = [&](int64_t which) {
      return added.slots[which] < 0 ? space.zero : r[added.program.outputs[added.slots[which] + 1]];
    };
    one.take_added(n, slope(0), slope(1), slope(2));
  }

  // Few rows have a sure class, so these are put together.
  void run_sure(EveryLanes& lanes, int64_t n) const {
    std::array<int64_t, BLOCK> rows;
    Register margin{}, value, emphasis;
    int64_t count = 0;
    for (int64_t k = 0; k < n; ++k)
      if (lanes.sure[k] >= 0) margin[count] = lanes.sure_margin[k], rows[count++] = k;
    if (count == 0) return;
    run_exactly(margin, (count + LANES - 1) / LANES * LANES, value, emphasis);
    for (int64_t k = 0; k < count; ++k) {
      lanes.sure_value[rows[k]] = value[k];
      lanes.sure_emphasis[rows[k]] = emphasis[k];
    }
  }

  // Sure classes and labels.
  void run_exactly(EveryLanes& lanes, int64_t n) const {
    lanes.complete(n);
    run_sure(lanes, n);
    for (int64_t side = 0; side < sides(); ++side) {
      OneClass& one = lanes.labels[side];
      lanes.complete(one, n);
      run_exactly(one.margin, n, one.value, one.emphasis);
      if (loss.added) run_added(lanes, one, n);
    }
  }

  // Whether an emphasis may still count where the shares of all other classes are beyond floats.
  bool any_emphasis() const { return loss.added || !(loss.powers.there || loss.focus.gamma >= 0); }

  // Losses of all rows, and what their gradients need; false if one of them or a margin is not finite.
  bool finish(EveryLanes& lanes, int64_t n) const {
    const double finite = lanes.finish(n, sides(), beside.prior ? &beside.beta : nullptr);
    for (int64_t side = 0; side < sides(); ++side)
      if (float* values = side ? results.weights : results.values)
        for (int64_t i = begin; i < end; ++i)
          values[i] = labels.kept(i) ? static_cast<float>(lanes.labels[side].loss[i - begin]) : 0.0f;
    if (results.gradient) lanes.descend(n, sides());
    return finite == 0 && !(any_emphasis() && lanes.lost(n));
  }
};

} // namespace noiseproof
