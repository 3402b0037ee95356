// noiseproof_cpu::loss and its kin, operators of torch with their own gradient: one read of the logits, one write.

#include "node.h"

#include <torch/library.h>

namespace noiseproof {

Tensor loss_plain(
    const Tensor& logits, const Tensor& target, int64_t number, int64_t ignore_index, int64_t reduction) {
  Task task{find_loss(number), ignore_index, reduction};
  return evaluate(task, logits, target.contiguous(), false).first;
}

Tensor loss_autograd(
    const Tensor& logits, const Tensor& target, int64_t number, int64_t ignore_index, int64_t reduction) {
  return differentiable({find_loss(number), ignore_index, reduction}, logits, target.contiguous());
}

// Losses times their weights.
Tensor weighted_sum(
    const Tensor& logits, const Tensor& given, at::IntArrayRef numbers, at::ArrayRef<double> weights,
    int64_t ignore_index, int64_t reduction) {
  TORCH_CHECK_VALUE(!numbers.empty() && numbers.size() == weights.size(), "noiseproof_cpu::sum takes a weight for each");
  Tasks tasks;
  for (size_t k = 0; k < numbers.size(); ++k) {
    tasks.push_back({find_loss(numbers[k]), ignore_index, reduction});
    tasks.back().factor = weights[k];
  }
  return differentiable(std::move(tasks), logits, given.contiguous());
}

// Less alpha times the loss of other rows under other labels; counts the step where ``training``.
Tensor peer(
    const Tensor& logits, const Tensor& given, const Tensor& step, bool training, int64_t number, double alpha,
    int64_t seed, int64_t ignore_index, int64_t reduction) {
  const Tensor target = given.contiguous();
  checked_count(logits, target, ignore_index);
  Task task{find_loss(number), ignore_index, reduction};
  TORCH_CHECK_VALUE(!task.loss->by_mean, "noiseproof_cpu::peer takes losses of single rows");
  int64_t* now = step.mutable_data_ptr<int64_t>();
  const Labels labels{target.const_data_ptr<int64_t>(), ignore_index};
  task.peers = std::make_shared<Peers>(peers_of(labels, logits.size(0), alpha, seed, *now));
  const Tensor value = differentiable(std::move(task), logits, target);
  *now += training;
  return value;
}

// Less beta times the mean over labels drawn from ``prior``, by default those of the batch.
Tensor blind(
    const Tensor& logits, const Tensor& given, const std::optional<Tensor>& prior, int64_t number, double beta,
    int64_t ignore_index, int64_t reduction) {
  const Tensor target = given.contiguous();
  const int64_t kept = checked_count(logits, target, ignore_index), classes = logits.size(1);
  Task task{find_loss(number), ignore_index, reduction};
  TORCH_CHECK_VALUE(task.loss->rows.every_class, "noiseproof_cpu::blind takes losses of every class");
  task.beta = beta;
  task.prior = empty({padded(classes)});
  float* share = task.prior.mutable_data_ptr<float>();
  std::fill_n(share, padded(classes), 0.0f);
  if (prior) {
    TORCH_CHECK_VALUE(prior->is_cpu() && prior->scalar_type() == at::kFloat && prior->is_contiguous() &&
                          prior->dim() == 1 && prior->size(0) == classes,
                      "noiseproof_cpu::blind takes a float32 prior of all classes");
    std::copy_n(prior->const_data_ptr<float>(), classes, share);
  } else {
    const Labels labels{target.const_data_ptr<int64_t>(), ignore_index};
    for (int64_t i = 0; i < logits.size(0); ++i)
      if (labels.kept(i)) share[labels.target[i]] += 1;
    for (int64_t j = 0; j < classes; ++j) share[j] = static_cast<float>(share[j] / divisor(kept, MEAN));
  }
  return differentiable(std::move(task), logits, target);
}

TORCH_LIBRARY(noiseproof_cpu, m) {
  m.def("define(float[] code, int[] outputs, int[] slots, int[] wanted, Tensor[] tables,"
        " bool by_mean) -> int", define);
  m.def("define_classes(float[] code, int[] outputs, float[] quick_code, int[] quick_outputs,"
        " float[] factors, bool shares, bool margins, float gamma, float[] powers) -> int", define_classes);
  m.def("define_sum(int every_class, float weight, int of_rows) -> int", define_sum);
  m.def("forget(int number) -> ()", forget);
  m.def("loss(Tensor logits, Tensor target, int number, int ignore_index, int reduction) -> Tensor");
  m.def("sum(Tensor logits, Tensor target, int[] numbers, float[] weights, int ignore_index, int reduction) -> Tensor");
  m.def("peer(Tensor logits, Tensor target, Tensor(a!) step, bool training, int number, float alpha, int seed,"
        " int ignore_index, int reduction) -> Tensor");
  m.def("blind(Tensor logits, Tensor target, Tensor? prior, int number, float beta, int ignore_index,"
        " int reduction) -> Tensor");
  m.def("again(Tensor logits, Tensor target, Tensor upstream, float[] code, int[] outputs, int[] slots,"
        " int[] wanted, Tensor[] tables, int ignore_index, int reduction) -> Tensor");
  m.def("again_classes(Tensor logits, Tensor target, Tensor upstream, float[] code, int[] outputs, Tensor? prior,"
        " float beta, int ignore_index, int reduction) -> Tensor");
}

TORCH_LIBRARY_IMPL(noiseproof_cpu, CPU, m) {
  m.impl("loss", loss_plain);
  m.impl("sum", weighted_sum);
  m.impl("peer", peer);
  m.impl("blind", blind);
}

TORCH_LIBRARY_IMPL(noiseproof_cpu, AutogradCPU, m) {
  m.impl("loss", loss_autograd);
  m.impl("sum", weighted_sum);
  m.impl("peer", peer);
  m.impl("blind", blind);
}

} // namespace noiseproof
