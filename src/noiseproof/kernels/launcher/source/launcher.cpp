// Losses on a GPU without Python in between: for small batches the host is what takes the time.
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "../../cpu/source/batched.h"
#include "../../cpu/source/make_node.h"
#include "plan.h"

namespace noiseproof {

std::mutex known_lock;
std::unordered_map<int64_t, std::vector<std::shared_ptr<const Plan>>> known; // by the number of the loss
LaunchKernel launch_kernel = nullptr;
using Held = std::optional<Tensor>;

void use(int64_t address) { launch_kernel = reinterpret_cast<LaunchKernel>(address); }

// For every kernel its handle, grid, threads, shared memory and number of arguments, then two words for each.
std::vector<Kernel> kernels_from(at::IntArrayRef words) {
  std::vector<Kernel> kernels;
  for (size_t at = 0; at < words.size();) {
    const int64_t* head = words.data() + at;
    Kernel kernel{
        reinterpret_cast<void*>(head[0]),
        {static_cast<unsigned>(head[1]), static_cast<unsigned>(head[2]), static_cast<unsigned>(head[3])},
        static_cast<unsigned>(head[4]),
        static_cast<unsigned>(head[5]),
        {}};
    const size_t count = head[6];
    TORCH_CHECK_VALUE(count <= MOST_ARGUMENTS, "noiseproof_launcher::define takes at most 40 arguments");
    for (size_t i = 0; i < count; ++i)
      kernel.arguments.push_back({static_cast<Source>(head[7 + 2 * i]), head[8 + 2 * i]});
    kernels.push_back(std::move(kernel));
    at += 7 + 2 * count;
  }
  return kernels;
}

// What to do with logits like these.
void define(
    int64_t number, const Tensor& logits, const Held& held, int64_t scratch, int64_t drawn,
    at::IntArrayRef forward, at::IntArrayRef backward) {
  const Tensor given = held.value_or(Tensor());
  auto plan = std::make_shared<const Plan>(Plan{
      logits.scalar_type(), logits.get_device(), logits.size(0), logits.size(1), logits.stride(0),
      logits.stride(1), Given(given), scratch, drawn, kernels_from(forward), kernels_from(backward)});
  const std::lock_guard<std::mutex> lock(known_lock);
  auto& plans = known[number];
  for (auto& old : plans)
    if (old->is_for(logits) && old->given.is_like(given, old->device)) return old.swap(plan);
  plans.push_back(std::move(plan));
}

void forget(int64_t number) {
  const std::lock_guard<std::mutex> lock(known_lock);
  known.erase(number);
}

std::shared_ptr<const Plan> plan_for(
    int64_t number, const Tensor& logits, const Tensor& target, const Tensor& given) {
  const std::lock_guard<std::mutex> lock(known_lock);
  const auto found = known.find(number);
  if (found == known.end()) return nullptr;
  for (const auto& plan : found->second)
    if (plan->fits(logits, target) && plan->given.is_like(given, plan->device)) return plan;
  return nullptr;
}

// The gradient as an expression of torch, made in Python; ``kept`` is what was drawn, or else what was given.
Tensor expressed_gradient(
    const Tensor& logits, const Tensor& target, const Tensor& kept, const Tensor& upstream, int64_t number) {
  static const auto again =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("noiseproof_launcher::again", "")
          .typed<Tensor(const Tensor&, const Tensor&, const Held&, const Tensor&, int64_t)>();
  return again.call(logits, target, kept.defined() ? Held(kept) : std::nullopt, upstream, number);
}

struct LaunchedLoss : torch::autograd::Node {
  std::shared_ptr<const Plan> plan;
  int64_t number, stream; // torch runs a node on the stream of its forward pass
  torch::autograd::SavedVariable logits, target, given; // not what labels were drawn from: that has moved on
  Tensor scratch;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& upstreams) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!upstreams[0].defined()) return {Tensor()};
    const Tensor z = logits.unpack(), labels = target.unpack();
    const Tensor held = given.unpack();
    if (at::GradMode::is_enabled()) return {expressed_gradient(z, labels, kept(held), upstreams[0], number)};
    return {of_each(upstreams[0], [&](const Tensor& one) { return gradient_of(z, labels, held, one); })};
  }

  Tensor gradient_of(const Tensor& z, const Tensor& labels, const Tensor& held, const Tensor& upstream) const {
    if (plan->fits(z, labels) && (plan->drawn != NOTHING || plan->given.is_like(held, plan->device)))
      if (const auto found = launched_gradient(z, labels, held, upstream)) return *found;
    const at::AutoGradMode grad(true);
    return expressed_gradient(z, labels, kept(held), upstream, number).detach();
  }

  Tensor kept(const Tensor& held) const {
    if (plan->drawn == NOTHING) return held;
    const int64_t bytes = plan->rows * static_cast<int64_t>(sizeof(int64_t));
    return scratch.narrow(0, plan->drawn, bytes).view(at::kLong);
  }

  // Nothing where a launch fails, as on a thread that has never used the device.
  std::optional<Tensor> launched_gradient(
      const Tensor& z, const Tensor& labels, const Tensor& held, const Tensor& above) const {
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor upstream = is_aligned(above) && above.scalar_type() == at::kFloat ? above : above.to(at::kFloat).clone();
    const Tensor found = at::empty({plan->rows, plan->classes}, z.options().requires_grad(false));
    Places places;
    places.set(LOGITS, z);
    places.set(TARGET, labels);
    if (held.defined()) places.set(GIVEN, held);
    places.set(UPSTREAM, upstream);
    places.set(GRADIENT, found);
    places.set(SCRATCH, scratch);
    const size_t done = run(launch_kernel, plan->backward, places, reinterpret_cast<void*>(stream));
    return done < plan->backward.size() ? std::nullopt : std::optional<Tensor>(found);
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    logits.reset_data();
    target.reset_data();
    given.reset_data();
    scratch = Tensor();
  }
};

// The mean loss; nothing where these logits are not known yet or the first launch fails.
std::optional<Tensor> loss(
    const Tensor& logits, const Tensor& target, const Held& held, int64_t number, int64_t stream, int64_t ticket) {
  const Tensor given = held.value_or(Tensor());
  const auto plan = plan_for(number, logits, target, given);
  if (!plan || torch::autograd::isFwGradDefined(logits)) return std::nullopt;
  Tensor value, scratch;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto options = logits.options().requires_grad(false);
    value = at::empty({}, options.dtype(at::kFloat));
    scratch = at::empty({plan->scratch}, options.dtype(at::kByte));
    Places places;
    places.set(LOGITS, logits);
    places.set(TARGET, target);
    if (held) places.set(GIVEN, given);
    places.set(VALUE, value);
    places.set(SCRATCH, scratch);
    places.begin[TICKET] = reinterpret_cast<char*>(ticket);
    const size_t done = run(launch_kernel, plan->forward, places, reinterpret_cast<void*>(stream));
    TORCH_CHECK(
        !done || done == plan->forward.size() || plan->drawn == NOTHING,
        "the CUDA driver refused to launch a kernel of a loss that had begun to draw labels for this batch");
    if (done < plan->forward.size()) return std::nullopt;
  }
  if (!at::GradMode::is_enabled() || !logits.requires_grad()) return value;
  auto node = make_node<LaunchedLoss>();
  node->set_next_edges(torch::autograd::collect_next_edges(logits));
  node->plan = plan;
  node->number = number;
  node->stream = stream;
  node->logits = torch::autograd::SavedVariable(logits, false);
  node->target = torch::autograd::SavedVariable(target, false);
  if (held && plan->drawn == NOTHING) node->given = torch::autograd::SavedVariable(given, false);
  node->scratch = std::move(scratch);
  torch::autograd::set_history(value, node);
  return value;
}

TORCH_LIBRARY(noiseproof_launcher, m) {
  m.def("use(int address) -> ()", use);
  m.def(
      "define(int number, Tensor logits, Tensor? given, int scratch, int drawn, int[] forward, int[] backward)"
      " -> ()",
      define);
  m.def("forget(int number) -> ()", forget);
  m.def("loss(Tensor logits, Tensor target, Tensor? given, int number, int stream, int ticket) -> Tensor?", loss);
  m.def("again(Tensor logits, Tensor target, Tensor? kept, Tensor upstream, int number) -> Tensor");
}

} // namespace noiseproof
