// One call of a loss: what it is about, its value, and its gradient.
//
// Of float32 logits the gradient is formed while the row is in cache, in the forward pass, and handed over
// in the backward pass. Half precision forms it in the backward pass, where the upstream factor (a loss
// scale, say) is known before rounding; so does a second backward pass over a retained graph.
#pragma once

#include <ATen/EmptyTensor.h>

#include <numeric>

#include "known.h"

namespace noiseproof {

enum Reduction : int64_t { NONE = 0, MEAN = 1, SUM = 2 };

// What is to be done with logits and targets, and kept for the backward pass.
struct Task {
  LossPointer loss;
  int64_t ignore_index, reduction;
  std::shared_ptr<const Peers> peers; // or null
  Tensor prior; // float32, padded with zeros, or undefined
  double beta = 0;
  double factor = 1; // of value and gradient: in a sum, and over a mean of the batch, once that is known

  Beside beside() const { return {peers.get(), prior.defined() ? prior.const_data_ptr<float>() : nullptr, beta}; }
};

// Places for results, null or undefined if not wanted, and the upstream factor.
struct Places {
  float *values = nullptr, *weights = nullptr;
  Tensor gradient;
  double scale = 1;
  Tensor row_scale;
};

template <class Number>
bool run_as(const Task& task, const Tensor& z, const Tensor& target, const Places& places) {
  const Logits<Number> logits{z.const_data_ptr<Number>(), z.size(0), z.size(1), z.stride(0), z.stride(1)};
  const Labels labels{target.const_data_ptr<int64_t>(), task.ignore_index};
  const Tensor& by_row = places.row_scale;
  const Results<Number> results{
      places.values,
      places.weights,
      places.gradient.defined() ? places.gradient.mutable_data_ptr<Number>() : nullptr,
      places.scale,
      by_row.defined() ? by_row.const_data_ptr<float>() : nullptr,
      by_row.defined() && by_row.dim() ? by_row.stride(0) : 0};
  if (task.loss->rows.powers.there) return sweep<PowersBlock>(task.loss->rows, logits, labels, results, task.beside());
  if (task.loss->rows.every_class) return sweep<EveryBlock>(task.loss->rows, logits, labels, results, task.beside());
  if (task.peers) return sweep<PairBlock>(task.loss->rows, logits, labels, results, task.beside());
  return sweep<Block>(task.loss->rows, logits, labels, results, task.beside());
}

inline bool run_task(const Task& task, const Tensor& logits, const Tensor& target, const Places& places) {
  switch (logits.scalar_type()) {
    case at::kFloat: return run_as<float>(task, logits, target, places);
    case at::kBFloat16: return run_as<at::BFloat16>(task, logits, target, places);
    case at::kHalf: return run_as<at::Half>(task, logits, target, places);
    default: TORCH_CHECK_TYPE(false, "noiseproof_cpu takes float32, float16 and bfloat16, got ", logits.scalar_type());
  }
}

// Not initialised, and without the way through torch's dispatcher, which takes as long as a small batch.
inline Tensor empty(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::detail::empty_cpu(shape, type);
}

inline double divisor(int64_t kept, int64_t reduction) {
  return reduction == MEAN ? static_cast<double>(std::max<int64_t>(kept, 1)) : 1.0;
}

inline int64_t checked_count(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && target.dim() == 1 && target.size(0) == logits.size(0) &&
                        target.scalar_type() == at::kLong && target.is_cpu(),
                    "noiseproof_cpu takes logits (N, C) and int64 targets (N,)");
  const auto kept =
      count_kept({target.const_data_ptr<int64_t>(), ignore_index}, logits.size(0), logits.size(1));
  TORCH_CHECK_VALUE(kept >= 0, "a target is no class");
  return kept;
}

// One over the mean of 2 * emphasis; 0 where nothing counts, so that no upstream makes nan of it.
inline double per_mean(const float* weights, int64_t rows, int64_t kept) {
  const double mean = 2 * std::accumulate(weights, weights + rows, 0.0) / divisor(kept, MEAN);
  return mean > std::numeric_limits<float>::min() ? 1 / mean : 0;
}

// ``value`` (N,) or () from the values of all rows, and from what ``others`` has of them.
inline void reduce(const Task& task, int64_t rows, double scale, const float* values, const float* others, float* value) {
  const double alpha = task.peers ? task.peers->alpha : 0;
  if (task.reduction == NONE) {
    for (int64_t i = 0; i < rows; ++i)
      value[i] = static_cast<float>(task.factor * (values[i] - (alpha ? alpha * others[task.peers->a[i]] : 0)));
    return;
  }
  double total = std::accumulate(values, values + rows, 0.0);
  if (alpha) total -= alpha * std::accumulate(others, others + rows, 0.0);
  *value = static_cast<float>(total * scale * task.factor);
}

// The loss, and its gradient for an upstream factor of 1 if asked for, which task.factor is still to multiply.
inline std::pair<Tensor, Tensor> evaluate(Task& task, const Tensor& logits, const Tensor& target, bool with_gradient) {
  const int64_t rows = logits.size(0), kept = checked_count(logits, target, task.ignore_index);
  const auto shape = task.reduction == NONE ? target.sizes() : at::IntArrayRef();
  const Tensor value = empty(shape);
  const std::unique_ptr<float[]> space(new float[2 * rows]);
  const bool by_mean = task.loss->by_mean;
  Places places;
  places.values = space.get();
  places.weights = by_mean || task.peers ? space.get() + rows : nullptr;
  if (with_gradient) places.gradient = empty(logits.sizes());
  places.scale = 1 / divisor(kept, task.reduction);
  TORCH_CHECK_VALUE(run_task(task, logits, target, places), "a margin is not finite");
  if (by_mean) task.factor *= per_mean(places.weights, rows, kept);
  reduce(task, rows, places.scale, places.values, places.weights, value.mutable_data_ptr<float>());
  return {value, places.gradient};
}

inline Tensor gradient_of(const Task& task, const Tensor& logits, const Tensor& target, const Tensor& upstream) {
  Places places;
  places.gradient = empty(logits.sizes(), logits.scalar_type());
  places.row_scale = upstream;
  places.scale = task.factor / divisor(checked_count(logits, target, task.ignore_index), task.reduction);
  run_task(task, logits, target, places);
  return places.gradient;
}

} // namespace noiseproof
