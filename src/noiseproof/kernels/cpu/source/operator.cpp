// noiseproof_cpu::loss, an operator of torch with its own gradient: one read of the logits, one write.

#include <ATen/LegacyBatchedTensorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include "losses.h"

namespace noiseproof {

// The gradient as an expression of torch, made in Python, for second derivatives.
inline Tensor differentiable_gradient(
    const Task& task, const Tensor& logits, const Tensor& target, const Tensor& upstream) {
  static const auto again = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("noiseproof_cpu::differentiable_gradient", "")
                                .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&,
                                              at::ArrayRef<double>, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                                              at::TensorList, int64_t, int64_t)>();
  const Loss& loss = *task.loss;
  const auto weights = task.weights.defined() ? std::optional<Tensor>(task.weights) : std::nullopt;
  return again.call(
      logits, target, task.factor == 1 ? upstream : upstream.mul(task.factor), weights, loss.code, loss.outputs,
      loss.slots, loss.wanted, loss.tables, task.ignore_index, task.reduction);
}

// ``gradient`` of the upstream, or of each of many: is_grads_batched and vectorized Jacobians pass tensors without
// storage.
template <class Gradient>
Tensor of_each(const Tensor& upstream, const Gradient& gradient) {
  const auto* many = at::maybeGetBatchedImpl(upstream);
  if (!many) return gradient(upstream);
  TORCH_CHECK(many->bdims().size() == 1, "noiseproof: nested vmap is not supported in the gradient of a loss");
  const at::BatchDim& over = many->bdims()[0];
  std::vector<Tensor> found;
  for (const Tensor& one : many->value().unbind(over.dim())) found.push_back(gradient(one));
  return at::makeBatched(at::stack(found), {{over.level(), 0}});
}

inline void multiply(const Tensor& gradient, float factor) {
  if (factor == 1) return;
  float* number = gradient.mutable_data_ptr<float>();
  at::parallel_for(0, gradient.numel(), PER_THREAD, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) number[i] *= factor;
  });
}

// What the backward pass needs. A node of its own costs half of what torch's general one does.
struct LossFunction : torch::autograd::Node {
  Task task;
  torch::autograd::SavedVariable logits, target;
  Tensor gradient; // of the forward pass, handed over once

  torch::autograd::variable_list apply(torch::autograd::variable_list&& upstreams) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Tensor& upstream = upstreams[0];
    if (!upstream.defined()) return {Tensor()};
    const Tensor z = logits.unpack();
    if (at::GradMode::is_enabled())
      return {of_each(upstream, [&](const Tensor& one) {
        return differentiable_gradient(task, z, target.unpack(), one);
      })};
    if (!gradient.defined() || at::isBatchedTensor(upstream))
      return {of_each(upstream, [&](const Tensor& one) { return gradient_of(task, z, target.unpack(), one); })};
    Tensor found = std::exchange(gradient, Tensor()); // another backward pass forms it again
    multiply(found, static_cast<float>(*upstream.const_data_ptr<float>() * task.factor));
    return {found};
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    logits.reset_data();
    target.reset_data();
    gradient = Tensor();
  }
};

// A node as this version of torch holds it.
template <class Pointer = decltype(torch::autograd::Edge::function)>
auto make_node() {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
    return std::make_shared<LossFunction>();
  else
    return c10::make_intrusive<LossFunction>();
}

Tensor loss_plain(
    const Tensor& logits, const Tensor& target, const std::optional<Tensor>& weights, int64_t number,
    int64_t ignore_index, int64_t reduction) {
  Task task = task_of(logits, weights, number, ignore_index, reduction);
  return evaluate(task, logits, target.contiguous(), false).first;
}

Tensor loss_autograd(
    const Tensor& logits, const Tensor& given, const std::optional<Tensor>& weights, int64_t number,
    int64_t ignore_index, int64_t reduction) {
  TORCH_CHECK_VALUE(!torch::autograd::isFwGradDefined(logits), "noiseproof_cpu has no forward derivative");
  const Tensor target = given.contiguous();
  Task task = task_of(logits, weights, number, ignore_index, reduction);
  const bool in_graph = at::GradMode::is_enabled() && logits.requires_grad();
  const bool now = in_graph && reduction != NONE && logits.scalar_type() == at::kFloat;
  auto [value, gradient] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return evaluate(task, logits, target, now);
  }();
  if (!in_graph) return value;
  auto node = make_node();
  node->set_next_edges(torch::autograd::collect_next_edges(logits));
  node->task = std::move(task);
  node->logits = torch::autograd::SavedVariable(logits, false);
  node->target = torch::autograd::SavedVariable(target, false);
  node->gradient = std::move(gradient);
  torch::autograd::set_history(value, node);
  return value;
}

TORCH_LIBRARY(noiseproof_cpu, m) {
  m.def("define(float[] code, int[] outputs, int[] slots, int[] wanted, Tensor[] tables,"
        " bool by_mean) -> int", define);
  m.def("forget(int number) -> ()", forget);
  m.def("loss(Tensor logits, Tensor target, Tensor? weights, int number, int ignore_index, int reduction) -> Tensor");
  m.def("differentiable_gradient(Tensor logits, Tensor target, Tensor upstream, Tensor? weights, float[] code,"
        " int[] outputs, int[] slots, int[] wanted, Tensor[] tables, int ignore_index, int reduction) -> Tensor");
}

TORCH_LIBRARY_IMPL(noiseproof_cpu, CPU, m) { m.impl("loss", loss_plain); }

TORCH_LIBRARY_IMPL(noiseproof_cpu, AutogradCPU, m) { m.impl("loss", loss_autograd); }

} // namespace noiseproof
