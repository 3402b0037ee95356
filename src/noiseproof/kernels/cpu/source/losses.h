// Losses by number, and one call of a loss: its value and its gradient.
//
// Of float32 logits the gradient is formed while the row is in cache, in the forward pass, and handed over
// in the backward pass. Half precision forms it in the backward pass, where the upstream factor (a loss
// scale, say) is known before rounding; so does a second backward pass over a retained graph.
#pragma once

#define AT_PER_OPERATOR_HEADERS
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include <mutex>
#include <numeric>
#include <unordered_map>

#include "block.h"

namespace noiseproof {

using at::Tensor;

enum Reduction : int64_t { NONE = 0, MEAN = 1, SUM = 2 };

// A loss as kernels/cpu/operator.py describes it, and ready to run.
struct Loss {
  std::vector<double> code;
  std::vector<int64_t> outputs, slots, wanted;
  std::vector<Tensor> tables;
  bool by_mean = false; // divided by the batch's mean of 2 * emphasis
  RowProgram rows;
};

using LossPointer = std::shared_ptr<const Loss>;

// An operator takes an integer much faster than an object.
struct Known {
  std::mutex mutex;
  std::unordered_map<int64_t, LossPointer> by_number;
  int64_t next = 0;
};

inline Known& known_losses() {
  static Known losses;
  return losses;
}

inline LossPointer find_loss(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  const auto found = losses.by_number.find(number);
  TORCH_CHECK_INDEX(found != losses.by_number.end(), "noiseproof_cpu: no loss number ", number);
  return found->second;
}

inline void forget(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number.erase(number);
}

inline std::vector<Instruction> instructions(const std::vector<double>& code) {
  std::vector<Instruction> found;
  for (size_t i = 0; i + 3 < code.size(); i += 4) {
    const auto operation = static_cast<Operation>(static_cast<int>(code[i]));
    Instruction step{operation, code[i + 1], 0, 0, 0};
    if (operation != Operation::CONSTANT) {
      step.a = static_cast<int64_t>(code[i + 1]);
      step.b = static_cast<int64_t>(code[i + 2]);
      step.c = static_cast<int64_t>(code[i + 3]);
    }
    found.push_back(step);
  }
  return found;
}

inline int64_t define(
    std::vector<double> code, std::vector<int64_t> outputs, std::vector<int64_t> slots,
    std::vector<int64_t> wanted, std::vector<Tensor> tables, bool by_mean) {
  auto loss = std::make_shared<Loss>();
  RowProgram& rows = loss->rows;
  rows.margin_alone = wanted.empty();
  if (!wanted.empty()) rows.wanted = {wanted[0] != 0, wanted[1] != 0, wanted[2] != 0};
  rows.sums = sums_function(rows.wanted);
  std::copy_n(slots.begin(), rows.slots.size(), rows.slots.begin());
  rows.program = {instructions(code), outputs, {}, wanted.empty() ? 1 : 6};
  for (const Tensor& given : tables) {
    const auto* start = reinterpret_cast<const std::array<double, 4>*>(given.const_data_ptr<double>());
    rows.program.tables.emplace_back(start, start + given.size(0));
  }
  loss->code = std::move(code), loss->outputs = std::move(outputs), loss->slots = std::move(slots);
  loss->wanted = std::move(wanted), loss->tables = std::move(tables), loss->by_mean = by_mean;
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number[losses.next] = std::move(loss);
  return losses.next++;
}

// Not initialised, and without torch's dispatcher, which takes as long as a small batch.
inline Tensor empty(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::detail::empty_cpu(shape, type);
}

inline double divisor(int64_t kept, int64_t reduction) {
  return reduction == MEAN ? static_cast<double>(std::max<int64_t>(kept, 1)) : 1.0;
}

// What is to be done with logits and targets, and kept for the backward pass.
struct Task {
  LossPointer loss;
  int64_t ignore_index, reduction;
  Tensor weights; // of the classes in the sum of z: float32, padded with zeros, or undefined
  double factor = 1; // of value and gradient: one over a mean of the batch, once that is known
};

inline Task task_of(
    const Tensor& logits, const std::optional<Tensor>& weights, int64_t number, int64_t ignore_index,
    int64_t reduction) {
  Task task{find_loss(number), ignore_index, reduction, {}};
  if (!weights) return task;
  const Wanted& wanted = task.loss->rows.wanted;
  const int64_t classes = logits.size(1);
  TORCH_CHECK_VALUE(wanted.sums && !wanted.squares && !wanted.products,
                    "noiseproof_cpu takes weights for losses of margin and sum of z only");
  TORCH_CHECK_VALUE(weights->is_cpu() && weights->scalar_type() == at::kFloat && weights->is_contiguous() &&
                        weights->dim() == 1 && weights->size(0) == classes,
                    "noiseproof_cpu takes one float32 weight per class");
  task.weights = empty({padded(classes)});
  float* place = task.weights.mutable_data_ptr<float>();
  std::fill_n(place, padded(classes), 0.0f);
  std::copy_n(weights->const_data_ptr<float>(), classes, place);
  return task;
}

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
  const float* weights = task.weights.defined() ? task.weights.const_data_ptr<float>() : nullptr;
  return sweep(task.loss->rows, logits, labels, weights, results);
}

inline bool run_task(const Task& task, const Tensor& logits, const Tensor& target, const Places& places) {
  switch (logits.scalar_type()) {
    case at::kFloat: return run_as<float>(task, logits, target, places);
    case at::kBFloat16: return run_as<at::BFloat16>(task, logits, target, places);
    case at::kHalf: return run_as<at::Half>(task, logits, target, places);
    default: TORCH_CHECK_TYPE(false, "noiseproof_cpu takes float32, float16 and bfloat16, got ", logits.scalar_type());
  }
}

inline int64_t checked_count(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && target.dim() == 1 && target.size(0) == logits.size(0) &&
                        target.scalar_type() == at::kLong && target.is_cpu(),
                    "noiseproof_cpu takes logits (N, C) and int64 targets (N,)");
  const auto kept =
      count_kept({target.const_data_ptr<int64_t>(), ignore_index}, logits.size(0), logits.size(1));
  TORCH_CHECK_VALUE(kept >= 0, "a target is not a valid class index");
  return kept;
}

// One over the mean of 2 * emphasis; 0 where nothing counts, so that no upstream makes nan of it.
inline double per_mean(const float* weights, int64_t rows, int64_t kept) {
  const double mean = 2 * std::accumulate(weights, weights + rows, 0.0) / divisor(kept, MEAN);
  return mean > std::numeric_limits<float>::min() ? 1 / mean : 0;
}

// The loss, and its gradient for an upstream factor of 1 if asked for, still to be multiplied by task.factor.
inline std::pair<Tensor, Tensor> evaluate(Task& task, const Tensor& logits, const Tensor& target, bool with_gradient) {
  const int64_t rows = logits.size(0), kept = checked_count(logits, target, task.ignore_index);
  const Tensor value = empty(task.reduction == NONE ? target.sizes() : at::IntArrayRef());
  const std::unique_ptr<float[]> space(new float[2 * rows]);
  const bool by_mean = task.loss->by_mean;
  Places places;
  places.values = space.get();
  places.weights = by_mean ? space.get() + rows : nullptr;
  if (with_gradient) places.gradient = empty(logits.sizes());
  places.scale = 1 / divisor(kept, task.reduction);
  TORCH_CHECK_VALUE(run_task(task, logits, target, places), "a margin is not finite");
  if (by_mean) task.factor = per_mean(places.weights, rows, kept);
  float* found = value.mutable_data_ptr<float>();
  if (task.reduction == NONE)
    for (int64_t i = 0; i < rows; ++i) found[i] = static_cast<float>(task.factor * places.values[i]);
  else
    *found = static_cast<float>(
        std::accumulate(places.values, places.values + rows, 0.0) * places.scale * task.factor);
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
