// Numbers per row of losses that look at every class, and the gradient of a row from them.
//
// With the share s_k of every class (1 or its prior), its value v_k, its emphasis m_k, and a_k = s_k m_k / (1-p_k),
// the gradient of B = sum of s_k v_k is p_j sum(a) - a_j. A loss is a function of B and the value of the label. The
// label and a class that has more than half of the row, the sure one, are left out of sums in float and added here.
// A loss of row statistics may be added to a loss of every class, which has a weight then.
#pragma once

#include <array>

#include "classes.h"

namespace noiseproof {

// One class of every row, in double.
struct OneClass {
  Register low, margin, value, emphasis, share; // low: z - peak
  Register apart, counted; // 1 if it is not the sure class; 1 if it is to be added to the sums
  Register steep, at_sure; // the emphasis over 1 - p where it is apart, the emphasis where it is not
  Register loss, by_value, by_blind; // the loss under this label and its derivatives
  Register more, more_emphasis; // value of the loss that is added, and what its gradient gives the other classes
  Register lift, by_sum; // its derivatives by the logsumexp, which the label gets, and by the sum of z
  Register own; // what the gradient has of both emphases, where the class is apart
  Register scale; // how much it counts
  Register less; // the gradient at this label is e * by_e less that

  void take_added(int64_t n, const double* by_margin, const double* by_lse, const double* by_sum_of_z) {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles rest = sigmoid(-step_of(margin + k)), by_logsumexp = step_of(by_lse + k);
      put(more_emphasis + k, rest * by_logsumexp - step_of(by_margin + k));
      put(lift + k, by_logsumexp);
      put(by_sum + k, step_of(by_sum_of_z + k));
    }
  }
};

struct alignas(64) EveryLanes {
  static constexpr double LEAST = 1e-300; // of the shares of all others
  static constexpr double LEAST_IN_FLOATS = 1e-37; // as sums of floats they keep their digits from here on
  Register tail, mass, per_mass, log_mass; // tail: the sum of exp(z - peak) but for the largest
  Register values, ratios, blind; // sums over classes; blind: B
  Register sure_margin, per_tail;
  Register sure_value, sure_emphasis, sure_share; // 0 where no class is sure
  Register by_e, by_blind, at_sure; // a gradient row is e_j * by_e - a_j * by_blind, but for sure class and labels
  Register sum_low, classes, shift; // the sum of z - peak, how many are not masked, what the gradient of all has more
  std::array<OneClass, 2> labels;
  std::array<int64_t, BLOCK> sure; // or -1
  double weight; // of the loss of every class

  EveryLanes(int64_t sides, double its_weight) : weight(its_weight) {
    sure.fill(-1);
    std::fill_n(tail, BLOCK, 1.0);
    std::fill_n(classes, BLOCK, 2.0);
    for (double* each : {values, ratios, sure_value, sure_emphasis, sure_share, sum_low, shift})
      std::fill_n(each, BLOCK, 0.0);
    for (int64_t side = 0; side < sides; ++side) {
      OneClass& one = labels[side];
      for (double* each : {one.low, one.apart, one.more, one.more_emphasis, one.lift, one.by_sum})
        std::fill_n(each, BLOCK, 0.0);
      for (double* each : {one.share, one.counted}) std::fill_n(each, BLOCK, 1.0);
    }
  }

  void complete(int64_t n) {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles here = step_of(tail + k);
      put(mass + k, 1 + here);
      put(per_mass + k, 1 / (1 + here));
      put(log_mass + k, log1p(here));
      put(sure_margin + k, -log(at_least(LEAST, here))); // nan where no other class is there
    }
  }

  void complete(OneClass& label, int64_t n) const {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles low = step_of(label.low + k), margin = low - log(step_of(mass + k) - exp(low));
      put(label.margin + k, step_of(label.apart + k) != 0 ? margin : step_of(sure_margin + k));
    }
  }

  // What a program of row statistics asks for beside the margin, z being taken relative to the label's.
  void inputs_of_sums(const OneClass& label, int64_t n, double* const* r) const {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles margin = step_of(label.margin + k), present = step_of(classes + k);
      put(r[1] + k, -logsigmoid(margin));
      put(r[2] + k, step_of(sum_low + k) - present * step_of(label.low + k));
      put(r[5] + k, present);
    }
    for (int64_t input : {3, 4}) std::fill_n(r[input], n, 0.0);
  }

  // Whether a row has a class so sure that the others are lost, and its margin with them.
  bool lost(int64_t n) const {
    for (int64_t k = 0; k < n; ++k)
      if (sure[k] >= 0 && tail[k] < LEAST_IN_FLOATS) return true;
    return false;
  }

  ClassScale scale(int64_t k) const {
    const double largest = sure[k] < 0 ? per_mass[k] : tail[k] * per_mass[k];
    return {static_cast<float>(log_mass[k]), static_cast<float>(per_mass[k]), static_cast<float>(largest)};
  }

  void take(int64_t k, const ClassSums& found, const ClassProgram& program) {
    values[k] += program.by_value * found.values;
    ratios[k] += program.by_ratio * found.ratios;
  }

  // After values and emphases are known; 0 times the sum of losses and margins, nan if one is not finite.
  double finish(int64_t n, int64_t sides, const double* beta) {
    double finite = 0;
    for (int64_t k = 0; k < n; ++k) {
      per_tail[k] = 1 / (tail[k] > LEAST ? tail[k] : LEAST);
      blind[k] = values[k] + sure_share[k] * sure_value[k];
      sure_emphasis[k] *= sure_share[k];
    }
    for (int64_t side = 0; side < sides; ++side) add(labels[side], n);
    for (int64_t side = 0; side < sides; ++side) finite += combine(labels[side], n, beta);
    return finite;
  }

  void add(OneClass& label, int64_t n) {
    for (int64_t k = 0; k < n; k += PER_STEP) {
      const Doubles apart = step_of(label.apart + k), emphasis = step_of(label.emphasis + k);
      const Doubles per_rest = apart / sigmoid(-step_of(label.margin + k)), steep = emphasis * per_rest;
      const Doubles share = step_of(label.counted + k) * step_of(label.share + k);
      put(label.steep + k, steep);
      put(label.own + k, step_of(label.more_emphasis + k) * per_rest);
      put(label.at_sure + k, (1 - apart) * emphasis);
      put(blind + k, step_of(blind + k) + share * step_of(label.value + k));
      put(ratios + k, step_of(ratios + k) + share * steep);
    }
  }

  // The value of the label less ``beta`` times B, or over B where there is none.
  double combine(OneClass& label, int64_t n, const double* beta) const {
    double finite = 0;
    for (int64_t k = 0; k < n; ++k) {
      const double per_blind = 1 / blind[k], part = label.value[k] * per_blind;
      label.loss[k] = weight * (beta ? label.value[k] - *beta * blind[k] : part) + label.more[k];
      label.by_value[k] = weight * (beta ? 1 : per_blind);
      label.by_blind[k] = weight * (beta ? -*beta : -part * per_blind);
      finite += (label.loss[k] + label.margin[k]) * 0.0;
    }
    return finite;
  }

  // After losses are known.
  void descend(int64_t n, int64_t sides) {
    for (double* each : {by_e, by_blind, at_sure}) std::fill_n(each, n, 0.0);
    for (int64_t side = 0; side < sides; ++side) pull(labels[side], n);
    for (int64_t k = 0; k < n; ++k) {
      const double all = (by_e[k] + by_blind[k] * ratios[k]) * per_mass[k];
      const double sure = at_sure[k] + by_blind[k] * sure_emphasis[k];
      by_e[k] = all + sure * per_tail[k];
      at_sure[k] = all - sure;
    }
    for (int64_t side = 0; side < sides; ++side) {
      OneClass& one = labels[side];
      for (int64_t k = 0; k < n; ++k) {
        one.less[k] = one.steep[k] * by_blind[k] * one.share[k] + one.own[k] - one.lift[k];
        at_sure[k] += (1 - one.apart[k]) * one.lift[k];
      }
    }
    if (sides == 2) join(n);
  }

  void pull(OneClass& label, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      label.own[k] = label.scale[k] * (label.by_value[k] * label.steep[k] + label.own[k]);
      by_blind[k] += label.scale[k] * label.by_blind[k];
      by_e[k] += label.own[k];
      label.lift[k] *= label.scale[k];
      shift[k] += label.scale[k] * label.by_sum[k];
      at_sure[k] += label.scale[k] * (label.by_value[k] * label.at_sure[k] + (1 - label.apart[k]) * label.more_emphasis[k]);
    }
  }

  // Where both labels are the same, both losses reach it.
  void join(int64_t n) {
    auto& [one, other] = labels;
    for (int64_t k = 0; k < n; ++k) {
      const double same = other.apart[k] - other.counted[k];
      one.less[k] += same * (other.own[k] - other.lift[k]);
      other.less[k] += same * (one.own[k] - one.lift[k]);
    }
  }
};

} // namespace noiseproof
