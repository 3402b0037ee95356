// noiseproof_cpu::loss, an operator of torch with its own gradient: one read of the logits, one write.
//
// Of float32 logits the gradient is formed while the row is in cache, in the forward pass, and handed over
// in the backward pass. Half precision forms it in the backward pass, where the upstream factor (a loss
// scale, say) is known before rounding; so does a second backward pass over a retained graph.

#define AT_PER_OPERATOR_HEADERS
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "sweep.h"

namespace noiseproof {

using at::Tensor;
enum Reduction : int64_t { NONE = 0, MEAN = 1, SUM = 2 };

// A loss as kernels/cpu_operator.py describes it, and ready to run.
struct Loss {
  std::vector<double> code;
  std::vector<int64_t> outputs, slots, wanted;
  std::vector<Tensor> tables;
  double focal;
  bool by_mean; // divided by the batch's mean of 2 * emphasis
  RowProgram rows;

  void prepare() {
    rows.focal = focal >= 0;
    rows.focus = Focus(focal);
    rows.margin_alone = wanted.empty();
    if (!wanted.empty()) rows.wanted = {wanted[0] != 0, wanted[1] != 0, wanted[2] != 0};
    rows.sums = sums_function(rows.wanted);
    std::copy_n(slots.begin(), rows.slots.size(), rows.slots.begin());
    rows.program.inputs = wanted.empty() ? 1 : 6;
    rows.program.outputs = outputs;
    for (size_t i = 0; i + 3 < code.size(); i += 4) {
      const auto operation = static_cast<Operation>(static_cast<int>(code[i]));
      Instruction step{operation, code[i + 1], 0, 0, 0};
      if (operation != Operation::CONSTANT) {
        step.a = static_cast<int64_t>(code[i + 1]);
        step.b = static_cast<int64_t>(code[i + 2]);
        step.c = static_cast<int64_t>(code[i + 3]);
      }
      rows.program.code.push_back(step);
    }
    for (const Tensor& given : tables) {
      const auto* start = reinterpret_cast<const std::array<double, 4>*>(given.const_data_ptr<double>());
      rows.program.tables.emplace_back(start, start + given.size(0));
    }
  }
};

using LossPointer = std::shared_ptr<const Loss>;

// Losses by number: an operator takes a whole number much faster than an object.
struct Known {
  std::mutex mutex;
  std::unordered_map<int64_t, LossPointer> by_number;
  int64_t next = 0;
};

Known& known_losses() {
  static Known losses;
  return losses;
}

LossPointer find_loss(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  const auto found = losses.by_number.find(number);
  TORCH_CHECK_INDEX(found != losses.by_number.end(), "noiseproof_cpu: no loss number ", number);
  return found->second;
}

int64_t define(
    std::vector<double> code, std::vector<int64_t> outputs, std::vector<int64_t> slots,
    std::vector<int64_t> wanted, std::vector<Tensor> tables, double focal, bool by_mean) {
  auto loss = std::make_shared<Loss>();
  *loss = {std::move(code), std::move(outputs), std::move(slots), std::move(wanted), std::move(tables),
           focal,           by_mean,            {}};
  loss->prepare();
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number[losses.next] = std::move(loss);
  return losses.next++;
}

void forget(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number.erase(number);
}

struct Call {
  const Loss& loss;
  const Tensor& logits;
  const Tensor& target;
  int64_t ignore_index;
  float *values = nullptr, *weights = nullptr; // null if not wanted
  Tensor gradient; // undefined if not wanted
  double scale = 1;
  Tensor row_scale;
};

template <class Number>
bool run_as(const Call& call) {
  const Logits<Number> logits{
      call.logits.const_data_ptr<Number>(), call.logits.size(0), call.logits.size(1), call.logits.stride(0),
      call.logits.stride(1)};
  const Labels labels{call.target.const_data_ptr<int64_t>(), call.ignore_index};
  const bool by_row = call.row_scale.defined();
  const Results<Number> results{
      call.values, call.weights,
      call.gradient.defined() ? call.gradient.mutable_data_ptr<Number>() : nullptr, call.scale,
      by_row ? call.row_scale.const_data_ptr<float>() : nullptr,
      by_row && call.row_scale.dim() ? call.row_scale.stride(0) : 0};
  return sweep(call.loss.rows, logits, labels, results);
}

bool run_call(const Call& call) {
  switch (call.logits.scalar_type()) {
    case at::kFloat: return run_as<float>(call);
    case at::kBFloat16: return run_as<at::BFloat16>(call);
    case at::kHalf: return run_as<at::Half>(call);
    default: TORCH_CHECK_TYPE(false, "noiseproof_cpu::loss takes float32, float16 and bfloat16, got ",
                              call.logits.scalar_type());
  }
}

Tensor contiguous_like(const Tensor& logits) {
  return at::empty_like(logits, logits.options(), at::MemoryFormat::Contiguous);
}

double divisor(int64_t kept, int64_t reduction) {
  return reduction == MEAN ? static_cast<double>(std::max<int64_t>(kept, 1)) : 1.0;
}

int64_t checked_count(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && target.dim() == 1 && target.size(0) == logits.size(0) &&
                        target.scalar_type() == at::kLong && target.is_cpu(),
                    "noiseproof_cpu::loss takes logits (N, C) and int64 targets (N,)");
  const auto kept =
      count_kept({target.const_data_ptr<int64_t>(), ignore_index}, logits.size(0), logits.size(1));
  TORCH_CHECK_VALUE(kept >= 0, "a target is no class");
  return kept;
}

// The loss, its gradient for an upstream factor of 1 if asked for, and what both the gradient and
// every other one of this batch are still to be multiplied by.
struct Evaluated {
  Tensor value, gradient;
  double factor = 1;
};

// One over the mean of 2 * emphasis.
double per_mean(const float* weights, int64_t rows, int64_t kept) {
  const double mean = 2 * std::accumulate(weights, weights + rows, 0.0) / static_cast<double>(std::max<int64_t>(kept, 1));
  return 1 / std::max(mean, static_cast<double>(std::numeric_limits<float>::min()));
}

Evaluated evaluate(
    const Tensor& logits, const Tensor& target, const Loss& loss, int64_t ignore_index, int64_t reduction,
    bool with_gradient) {
  const int64_t rows = logits.size(0), kept = checked_count(logits, target, ignore_index);
  Call call{loss, logits, target, ignore_index};
  Evaluated found;
  const bool each = reduction == NONE;
  found.value = at::empty(each ? target.sizes() : at::IntArrayRef(), logits.options().dtype(at::kFloat));
  float* value = found.value.mutable_data_ptr<float>();
  const std::unique_ptr<float[]> space(new float[2 * rows]);
  call.values = each ? value : space.get();
  call.weights = loss.by_mean ? space.get() + rows : nullptr;
  if (with_gradient) call.gradient = contiguous_like(logits);
  call.scale = 1 / divisor(kept, reduction);
  TORCH_CHECK_VALUE(run_call(call), "a margin is not finite");
  found.gradient = call.gradient;
  if (loss.by_mean) found.factor = per_mean(call.weights, rows, kept);
  if (each)
    for (int64_t i = 0; i < rows; ++i) value[i] *= static_cast<float>(found.factor);
  else
    *value = static_cast<float>(std::accumulate(call.values, call.values + rows, 0.0) * call.scale * found.factor);
  return found;
}

Tensor gradient_of(
    const Tensor& logits, const Tensor& target, const Loss& loss, int64_t ignore_index, int64_t reduction,
    const Tensor& upstream, double factor) {
  Call call{loss, logits, target, ignore_index};
  call.gradient = contiguous_like(logits);
  call.row_scale = upstream;
  call.scale = factor / divisor(checked_count(logits, target, ignore_index), reduction);
  run_call(call);
  return call.gradient;
}

void multiply(const Tensor& gradient, float factor) {
  if (factor == 1) return;
  float* number = gradient.mutable_data_ptr<float>();
  at::parallel_for(0, gradient.numel(), PER_THREAD, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) number[i] *= factor;
  });
}

// The same gradient as an expression of torch, made in Python, for those who differentiate it again.
Tensor differentiable_gradient(
    const Tensor& logits, const Tensor& target, const Tensor& upstream, const Loss& loss, int64_t ignore_index,
    int64_t reduction) {
  static const auto again = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("noiseproof_cpu::again", "")
                                .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, at::ArrayRef<double>,
                                              at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, at::TensorList,
                                              double, int64_t, int64_t)>();
  return again.call(
      logits, target, upstream, loss.code, loss.outputs, loss.slots, loss.wanted, loss.tables, loss.focal,
      ignore_index, reduction);
}

// What the backward pass needs. A node of its own costs half of what torch's general one does.
struct LossFunction : torch::autograd::Node {
  LossPointer loss;
  int64_t ignore_index, reduction;
  torch::autograd::SavedVariable logits, target;
  Tensor gradient; // of the forward pass, handed over once
  double factor;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& upstreams) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Tensor &upstream = upstreams[0], z = logits.unpack(), labels = target.unpack();
    if (!upstream.defined()) return {Tensor()};
    if (at::GradMode::is_enabled())
      return {differentiable_gradient(
          z, labels, loss->by_mean ? upstream.mul(factor) : upstream, *loss, ignore_index, reduction)};
    if (!gradient.defined()) return {gradient_of(z, labels, *loss, ignore_index, reduction, upstream, factor)};
    Tensor found = std::move(gradient); // another backward pass forms it anew
    gradient = Tensor();
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

// As torch keeps nodes, which depends on its version.
using NodePointer = decltype(torch::autograd::Edge::function);

template <class Pointer>
auto make_node() {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
    return std::make_shared<LossFunction>();
  else
    return c10::make_intrusive<LossFunction>();
}

Tensor loss_plain(
    const Tensor& logits, const Tensor& target, int64_t number, int64_t ignore_index, int64_t reduction) {
  return evaluate(logits, target.contiguous(), *find_loss(number), ignore_index, reduction, false).value;
}

Tensor loss_autograd(
    const Tensor& logits, const Tensor& given, int64_t number, int64_t ignore_index, int64_t reduction) {
  TORCH_CHECK_VALUE(!torch::autograd::isFwGradDefined(logits), "noiseproof_cpu::loss has no forward derivative");
  const Tensor target = given.contiguous();
  const bool differentiable = at::GradMode::is_enabled() && logits.requires_grad();
  const LossPointer loss = find_loss(number);
  const bool now = differentiable && reduction != NONE && logits.scalar_type() == at::kFloat;
  auto [value, gradient, factor] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return evaluate(logits, target, *loss, ignore_index, reduction, now);
  }();
  if (!differentiable) return value;
  auto node = make_node<NodePointer>();
  node->set_next_edges(torch::autograd::collect_next_edges(logits));
  node->loss = loss;
  node->ignore_index = ignore_index;
  node->reduction = reduction;
  node->logits = torch::autograd::SavedVariable(logits, false);
  node->target = torch::autograd::SavedVariable(target, false);
  node->gradient = std::move(gradient);
  node->factor = factor;
  torch::autograd::set_history(value, node);
  return value;
}

TORCH_LIBRARY(noiseproof_cpu, m) {
  m.def("define(float[] code, int[] outputs, int[] slots, int[] wanted, Tensor[] tables, float focal,"
        " bool by_mean) -> int", define);
  m.def("forget(int number) -> ()", forget);
  m.def("loss(Tensor logits, Tensor target, int number, int ignore_index, int reduction) -> Tensor");
  m.def("again(Tensor logits, Tensor target, Tensor upstream, float[] code, int[] outputs, int[] slots,"
        " int[] wanted, Tensor[] tables, float focal, int ignore_index, int reduction) -> Tensor");
}

TORCH_LIBRARY_IMPL(noiseproof_cpu, CPU, m) { m.impl("loss", loss_plain); }
TORCH_LIBRARY_IMPL(noiseproof_cpu, AutogradCPU, m) { m.impl("loss", loss_autograd); }

} // namespace noiseproof
