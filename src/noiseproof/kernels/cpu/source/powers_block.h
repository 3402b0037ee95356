// A block of rows of a loss of every class that is a sum of powers.
#pragma once

#include "class_block.h"

namespace noiseproof {

template <class Number>
struct PowersBlock : ClassBlock<Number> {
  using Basis = ClassBlock<Number>;
  using Basis::begin, Basis::end, Basis::labels, Basis::logits, Basis::loss, Basis::results, Basis::space;

  float* e(int64_t lane) const { return space.z(lane); }
  float* f(int64_t lane) const { return space.second(lane); }

  struct Start {
    const float* row;
    Range range;
  };

  Start start(int64_t i) const {
    if (i == end || !labels.kept(i)) return {};
    const float* row = as_floats(logits, i, e(i - begin));
    return {row, range_of(row, logits.classes)};
  }

  void read_row(int64_t i, const Start& from, EveryLanes& lanes, PowerLanes& sums) const {
    const int64_t k = i - begin, label = labels.target[i];
    OneClass& one = lanes.labels[0];
    float* share = space.shares.start;
    const float* row = from.row;
    const auto [lowest, peak] = from.range;
    one.low[k] = logits.at(i, label) - peak;
    one.share[k] = std::exchange(share[label], 0.0f);
    one.scale[k] = results.scale_of(i);
    sums.masked[k] = lowest == LOWEST;
    sums.shares[k] = sums.masked[k] ? shares_of(row, share, logits.classes) : space.all_shares - one.share[k];
    const Ahead ahead(logits, i, results.gradient);
    PowerSums found = loss.raise(row, logits.classes, peak, loss.powers.exponent, share, ahead, e(k), f(k));
    lanes.sure[k] = -1;
    lanes.tail[k] = found.mass - 1;
    one.apart[k] = 1;
    if (found.mass < 2) leave_out_sure(k, label, lanes, sums, found);
    if (lanes.tail[k] == 0 && stands_alone(row, logits.classes)) lanes.tail[k] = NOT_A_NUMBER;
    share[label] = static_cast<float>(one.share[k]);
    sums.logs[k] = found.logs;
    sums.linear[k] = found.linear;
    sums.power[k] = found.power;
  }

  // The class that has more than half of the row.
  void leave_out_sure(int64_t k, int64_t label, EveryLanes& lanes, PowerLanes& sums, PowerSums& found) const {
    const int64_t n = padded(logits.classes), sure = place_of(1.0f, e(k), n);
    OneClass& one = lanes.labels[0];
    e(k)[sure] = 0;
    if (f(k)) f(k)[sure] = 0;
    add_again(e(k), f(k), space.shares.start, n, found);
    lanes.sure[k] = sure;
    lanes.tail[k] = found.mass;
    lanes.sure_share[k] = sure == label ? one.share[k] : space.shares.start[sure];
    sums.shares[k] -= space.shares.start[sure];
    one.apart[k] = sure != label;
    one.counted[k] = one.apart[k];
  }

  void write_gradient(int64_t i, const EveryLanes& lanes, const PowerLanes& sums) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t k = i - begin, label = labels.target[i];
    descend(k, lanes, sums.per_power[k], out);
    if (loss.powers.ratio.constant != 0 && sums.masked[k]) clear_masked(logits, i, out);
    const double at_label = e(k)[label] * lanes.by_e[k] - lanes.labels[0].less[k];
    out[label] = static_cast<Number>(static_cast<float>(at_label));
    if (lanes.sure[k] >= 0) out[lanes.sure[k]] = static_cast<Number>(static_cast<float>(lanes.at_sure[k]));
  }

  void descend(int64_t k, const EveryLanes& lanes, double per_power, Number* out) const {
    const PowerTerms& ratio = loss.powers.ratio;
    const double by_blind = lanes.by_blind[k];
    const auto by_e = static_cast<float>(lanes.by_e[k]), constant = static_cast<float>(by_blind * ratio.constant);
    const auto linear = static_cast<float>(by_blind * ratio.linear * lanes.per_mass[k]);
    const auto power = static_cast<float>(by_blind * ratio.power * per_power);
    const float *high = e(k), *higher = f(k), *share = space.shares.start;
    const auto rest = [=](int64_t j) { return read(high + j) * (by_e - read(share + j) * linear); };
    if (higher)
      fill(out, logits.classes,
           [=](int64_t j) { return rest(j) - read(share + j) * (read(higher + j) * power + constant); });
    else
      fill(out, logits.classes, [=](int64_t j) { return rest(j) - read(share + j) * constant; });
  }

  bool run_all() const {
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    EveryLanes lanes(1, loss.weight);
    PowerLanes sums;
    Start next = start(begin);
    for (int64_t i = begin; i < end; ++i) {
      const Start now = std::exchange(next, start(i + 1));
      if (labels.kept(i)) read_row(i, now, lanes, sums);
    }
    this->run_exactly(lanes, n);
    sums.add(loss.powers, n, lanes);
    const bool finite = this->finish(lanes, n);
    if (results.gradient)
      for (int64_t i = begin; i < end; ++i) write_gradient(i, lanes, sums);
    return finite;
  }
};

} // namespace noiseproof
