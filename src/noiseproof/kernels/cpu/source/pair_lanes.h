// Numbers per row of a loss under two labels.
#pragma once

#include "workspace.h"

namespace noiseproof {

// The softmax over all classes but one of the labels is per_e * exp(z - peak), and ``at_other`` at the other label.
struct OneSide {
  Register own, other; // logits of the labels; other: -inf where both are the same
  Register margin, per_e, at_other, all_rest; // all_rest: what the softmax adds up to without the other label
  Register scale; // how much the loss under this label counts
};

// Sums are over the classes that are neither label, which then takes the other one in: nothing is ever subtracted.
// z is relative to the logit of the first label.
struct alignas(64) PairLanes {
  Register peak, mass, sum_z, squares, products, classes;
  std::array<OneSide, 2> sides;
  std::array<Register, 5> partials; // of both losses, those of the margin of the first one alone
  Register second_slope; // that of the margin of the second one
  std::array<int64_t, BLOCK> top; // as in Sums

  PairLanes() {
    for (double* each : {peak, sum_z, squares, products, classes}) std::fill_n(each, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
    for (auto& side : sides) {
      for (double* each : {side.own, side.scale}) std::fill_n(each, BLOCK, 0.0);
      std::fill_n(side.other, BLOCK, -INFINITE);
    }
  }

  void read(int64_t k, const Sums& rest) {
    mass[k] = rest.mass;
    top[k] = rest.top;
    if (rest.mass == 0) return;
    sum_z[k] = rest.sum_z;
    squares[k] = rest.squares;
    products[k] = rest.products;
    classes[k] = rest.classes - 1;
  }

  // Margins of one side.
  void complete(OneSide& side, int64_t n) const {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles level = step_of(peak + k), beside = step_of(side.other + k), high = level > beside ? level : beside;
      const Doubles part = exponentials_below(level - high).whole, extra = exponentials_below(beside - high).whole;
      const Doubles all_rest = step_of(mass + k) * part, total = all_rest + extra, per_total = 1 / total;
      put(side.margin + k, step_of(side.own + k) - high - log(total));
      put(side.per_e + k, part * per_total);
      put(side.all_rest + k, all_rest * per_total);
      put(side.at_other + k, extra * per_total);
    }
  }

  // All inputs of a program, relative to the logit of this side's label.
  void write_inputs(const OneSide& side, int64_t n, bool margin_alone, double* const* r) const {
    std::copy_n(side.margin, n, r[0]);
    if (margin_alone) return;
    for (int64_t k = 0; k < n; ++k) {
      const double there = side.other[k] > -INFINITE ? 1 : 0, beside = there != 0 ? side.other[k] - side.own[k] : 0;
      const double shift = sides[0].own[k] - side.own[k], w = side.all_rest[k], o = side.at_other[k];
      r[2][k] = sum_z[k] + classes[k] * shift + beside;
      r[3][k] = squares[k] * w * w + o * o;
      r[4][k] = w * (products[k] + shift) + o * beside;
      r[5][k] = classes[k] + 1 + there;
    }
  }

  // Only margins know a label: derivatives by all other statistics are added up, and what cancels is gone.
  void take_partials(int64_t side, const RowProgram& loss, const Workspace& space, int64_t n) {
    const double* scale = sides[side].scale;
    for (int64_t which = 0; which < 5; ++which) {
      const double* found = space.partial(loss, which);
      double* sum = which == 0 && side == 1 ? second_slope : partials[which];
      const bool first = which == 0 || side == 1;
      for (int64_t k = 0; k < n; ++k) sum[k] = scale[k] * found[k] + (first ? 0 : sum[k]);
    }
  }
};

} // namespace noiseproof
