// A loss in torch's graph.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <utility>

#include "batched.h"
#include "make_node.h"
#include "task.h"

namespace noiseproof {

// The gradient as an expression of torch, made in Python, for those who differentiate it again.
inline Tensor differentiable_gradient(
    const Task& task, const Tensor& logits, const Tensor& target, const Tensor& upstream) {
  static const auto again = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("noiseproof_cpu::again", "")
                                .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, at::ArrayRef<double>,
                                              at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, at::TensorList,
                                              int64_t, int64_t)>();
  static const auto again_classes =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("noiseproof_cpu::again_classes", "")
          .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, at::ArrayRef<double>, at::IntArrayRef,
                        const std::optional<Tensor>&, double, int64_t, int64_t)>();
  const auto of_rows = [&](const Loss& loss) {
    return again.call(
        logits, target, upstream, loss.code, loss.outputs, loss.slots, loss.wanted, loss.tables, task.ignore_index,
        task.reduction);
  };
  const Loss& loss = *task.loss;
  if (!loss.rows.every_class) return of_rows(loss);
  const auto prior = task.prior.defined() ? std::optional<Tensor>(task.prior) : std::nullopt;
  const Tensor weighted = loss.added ? upstream.mul(loss.rows.weight) : upstream;
  const Tensor found = again_classes.call(
      logits, target, weighted, loss.code, loss.outputs, prior, task.beta, task.ignore_index, task.reduction);
  return loss.added ? found.add(of_rows(*loss.added)) : found;
}

inline Tensor as_tensor(const std::vector<int64_t>& numbers) {
  return at::from_blob(const_cast<int64_t*>(numbers.data()), {static_cast<int64_t>(numbers.size())}, at::kLong).clone();
}

inline Tensor any_differentiable_gradient(
    const Task& task, const Tensor& logits, const Tensor& target, const Tensor& upstream) {
  const Tensor own = differentiable_gradient(task, logits, target, task.factor == 1 ? upstream : upstream.mul(task.factor));
  if (!task.peers) return own;
  const Tensor theirs = task.reduction == NONE ? upstream.index_select(0, as_tensor(task.peers->origin)) : upstream;
  return own.add(differentiable_gradient(task, logits, as_tensor(task.peers->second), theirs.mul(-task.peers->alpha)));
}

inline void multiply(const Tensor& gradient, float factor) {
  if (factor == 1) return;
  float* number = gradient.mutable_data_ptr<float>();
  at::parallel_for(0, gradient.numel(), PER_THREAD, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) number[i] *= factor;
  });
}

inline void add(const Tensor& total, const Tensor& more, float factor) {
  float* number = total.mutable_data_ptr<float>();
  const float* other = more.const_data_ptr<float>();
  at::parallel_for(0, total.numel(), PER_THREAD, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) number[i] += factor * other[i];
  });
}

// One loss, or those of a sum.
using Tasks = c10::SmallVector<Task, 1>;

// What the backward pass needs. A node of its own costs half of what torch's general one does.
struct LossFunction : torch::autograd::Node {
  Tasks tasks;
  torch::autograd::SavedVariable logits, target;
  Tensor gradient; // of the forward pass, handed over once
  double factor = 1; // which it still lacks

  template <class Find>
  Tensor total(Find find) const {
    Tensor found = find(tasks[0]);
    for (size_t k = 1; k < tasks.size(); ++k) found = found.add(find(tasks[k]));
    return found;
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& upstreams) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Tensor& upstream = upstreams[0];
    if (!upstream.defined()) return {Tensor()};
    const Tensor z = logits.unpack();
    if (at::GradMode::is_enabled())
      return {of_each(upstream, [&](const Tensor& one) {
        return total([&](const Task& task) { return any_differentiable_gradient(task, z, target.unpack(), one); });
      })};
    if (!gradient.defined() || at::isBatchedTensor(upstream))
      return {of_each(upstream, [&](const Tensor& one) {
        return total([&](const Task& task) { return gradient_of(task, z, target.unpack(), one); });
      })};
    Tensor found = std::exchange(gradient, Tensor()); // another backward pass forms it anew
    multiply(found, static_cast<float>(*upstream.const_data_ptr<float>() * factor));
    return {found};
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    logits.reset_data();
    target.reset_data();
    gradient = Tensor();
  }
};

// Value and gradient of all of them; that of one loss lacks its factor still.
inline std::pair<Tensor, Tensor> evaluate(Tasks& tasks, const Tensor& logits, const Tensor& target, bool with_gradient) {
  const at::AutoDispatchBelowADInplaceOrView below;
  auto [value, gradient] = evaluate(tasks[0], logits, target, with_gradient);
  if (tasks.size() > 1 && with_gradient) multiply(gradient, static_cast<float>(tasks[0].factor));
  for (size_t k = 1; k < tasks.size(); ++k) {
    const auto [more, slope] = evaluate(tasks[k], logits, target, with_gradient);
    add(value, more, 1);
    if (with_gradient) add(gradient, slope, static_cast<float>(tasks[k].factor));
  }
  return {value, gradient};
}

inline Tensor differentiable(Tasks tasks, const Tensor& logits, const Tensor& target) {
  TORCH_CHECK_VALUE(!torch::autograd::isFwGradDefined(logits), "noiseproof_cpu has no forward derivative");
  const bool in_graph = at::GradMode::is_enabled() && logits.requires_grad();
  const bool now = in_graph && tasks[0].reduction != NONE && logits.scalar_type() == at::kFloat;
  auto [value, gradient] = evaluate(tasks, logits, target, now);
  if (!in_graph) return value;
  auto node = make_node<LossFunction>();
  node->set_next_edges(torch::autograd::collect_next_edges(logits));
  node->factor = tasks.size() > 1 ? 1 : tasks[0].factor;
  node->tasks = std::move(tasks);
  node->logits = torch::autograd::SavedVariable(logits, false);
  node->target = torch::autograd::SavedVariable(target, false);
  node->gradient = std::move(gradient);
  torch::autograd::set_history(value, node);
  return value;
}

inline Tensor differentiable(Task task, const Tensor& logits, const Tensor& target) {
  return differentiable(Tasks{std::move(task)}, logits, target);
}

} // namespace noiseproof
