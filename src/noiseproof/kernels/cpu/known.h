// Losses by number: an operator takes a whole number much faster than an object.
#pragma once

#define AT_PER_OPERATOR_HEADERS
#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "sweep.h"

namespace noiseproof {

using at::Tensor;

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

inline int64_t define(
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

inline void forget(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number.erase(number);
}

} // namespace noiseproof
