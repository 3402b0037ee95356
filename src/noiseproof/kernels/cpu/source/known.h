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

// A loss as kernels/cpu_operator.py describes it, and ready to run.
struct Loss {
  std::vector<double> code;
  std::vector<int64_t> outputs, slots, wanted;
  std::vector<Tensor> tables;
  bool by_mean = false; // divided by the batch's mean of 2 * emphasis
  RowProgram rows;
  std::shared_ptr<const Loss> added; // rows.added is its
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

inline int64_t numbered(std::shared_ptr<const Loss> loss) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number[losses.next] = std::move(loss);
  return losses.next++;
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
  return numbered(std::move(loss));
}

// A loss that looks at every class: ``quick_code`` as kernels/cpu/classes.py makes it, ``shares`` and
// ``margins`` as in ClassProgram, ``gamma`` >= 0 where it is the focal loss, ``powers`` as kernels/cpu/powers.py finds
// them.
inline int64_t define_classes(
    std::vector<double> code, std::vector<int64_t> outputs, const std::vector<double>& quick_code,
    std::vector<int64_t> quick_outputs, const std::vector<double>& factors, bool shares, bool margins,
    double gamma, const std::vector<double>& powers) {
  auto loss = std::make_shared<Loss>();
  RowProgram& rows = loss->rows;
  rows.every_class = true;
  rows.classes.exact = {instructions(code), outputs, {}, CLASS_INPUTS};
  if (gamma >= 0) {
    rows.focus = Focus(gamma);
  } else if (!powers.empty()) {
    rows.powers = powers_from(powers);
    rows.raise = raise_function(rows.powers);
  } else {
    rows.classes.quick = {instructions(quick_code), std::move(quick_outputs), {}, CLASS_INPUTS};
    rows.classes.by_value = factors[0], rows.classes.by_ratio = factors[1];
    rows.classes.shares = shares, rows.classes.margins = margins;
  }
  loss->code = std::move(code), loss->outputs = std::move(outputs);
  return numbered(std::move(loss));
}

// ``weight`` times a loss of every class, and a loss of row statistics that wants no sums of p squared and of p z.
inline int64_t define_sum(int64_t every_class, double weight, int64_t of_rows) {
  const LossPointer first = find_loss(every_class), second = find_loss(of_rows);
  const Wanted& wanted = second->rows.wanted;
  TORCH_CHECK_VALUE(first->rows.every_class && !first->rows.powers.there && !first->added && !second->rows.every_class &&
                        !second->by_mean && !wanted.squares && !wanted.products,
                    "noiseproof_cpu::define_sum takes a loss of every class and one of margin and sum of z");
  auto loss = std::make_shared<Loss>(*first);
  loss->added = second;
  loss->rows.weight = weight;
  loss->rows.added = &second->rows;
  return numbered(std::move(loss));
}

inline void forget(int64_t number) {
  auto& losses = known_losses();
  const std::lock_guard<std::mutex> lock(losses.mutex);
  losses.by_number.erase(number);
}

} // namespace noiseproof
