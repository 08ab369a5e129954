// Descriptions of processors as rows of a table, for targets of which this machine mostly is none.
//
//   "neoverse-n1"           the row of that name
//   "cortex-a53,-smull"     without an instruction of machine/instructions.def
#pragma once

#include <algorithm>
#include <span>

#include "relay/base/diagnostics.h"
#include "relay/machine/instruction.h"

namespace relay::target {

struct Row {
  const char* name;
  const char* cpu;       // LLVM's name
  const char* features;  // LLVM's names, with a space between
  int vector_bytes;
  double fma_per_cycle, ghz;
  double division_cycles, root_cycles, exp_cycles;                       // of a vector of float32
  double double_division_cycles, double_root_cycles, double_exp_cycles;  // of float64
  int64_t l1, l2, l3;                                                    // KiB, per core; L3 is shared
  double l2_gbps, l3_gbps, dram_gbps;  // per core; estimates from published figures, never measured
};

inline std::vector<std::string> names_of(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

// The instructions of machine/instructions.def that the features have. LLVM's scheduling models give all of them the
// rate of multiply-adds. Sums through 16 bits are four instructions.
inline void set_instructions(TargetDesc& t) {
  t.instructions.clear();
  for (const machine::Instruction* i : machine::instructions_of(t.triple, t.features))
    t.instructions.push_back({i->name, i->short_sums ? t.fma_per_cycle / 4 : t.fma_per_cycle});
}

// Takes instructions ("-smull") out of the description.
inline Status leave_out(TargetDesc& t, std::span<const std::string_view> changes) {
  for (std::string_view change : changes) {
    const std::string_view name = trim(change).substr(std::min<size_t>(1, trim(change).size()));
    const bool is_removal = starts_with(trim(change), "-");
    const auto found = std::find_if(t.instructions.begin(), t.instructions.end(),
                                    [&](const InstructionRate& i) { return i.name == name; });
    if (is_removal && found != t.instructions.end()) {
      t.instructions.erase(found);
      continue;
    }
    std::vector<std::string> known;
    for (const InstructionRate& i : t.instructions) known.push_back("-" + i.name);
    return Diagnostic{.kind = DiagnosticKind::unknown_target,
                      .message = format("'{}' is not an instruction that {} can do without", trim(change), t.name),
                      .help = known.empty() ? "give the name alone" : format("give one of {}", join(known, ", "))};
  }
  return ok();
}

inline Result<TargetDesc> describe_row(std::span<const Row> rows, const char* architecture, const char* triple,
                                       std::string_view text) {
  const std::vector<std::string> names = names_of(rows);
  const std::vector<std::string_view> parts = split(text, ',');
  const std::string name(trim(parts[0]));
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return name == r.name; });
  if (row == rows.end()) {
    std::optional<std::string> near = nearest(name, names);
    return Diagnostic{.kind = DiagnosticKind::unknown_target,
                      .message = format("no {} processor is named '{}'", architecture, name),
                      .notes = {format("known: {}", join(names, ", "))},
                      .help = near ? format("did you mean '{}'?", *near) : "give one of these"};
  }
  TargetDesc t;
  t.name = row->name, t.triple = triple, t.cpu = row->cpu;
  for (std::string_view f : split(row->features, ' ')) t.features.push_back("+" + std::string(f));
  t.vector_bytes = row->vector_bytes, t.vector_registers = 32;
  t.has_fma = true;
  t.fma_per_cycle = row->fma_per_cycle, t.ghz = row->ghz;
  set_instructions(t);
  t.float32_cycles = {row->division_cycles, row->root_cycles, row->exp_cycles};
  t.float64_cycles = {row->double_division_cycles, row->double_root_cycles, row->double_exp_cycles};
  t.l1_bytes = row->l1 << 10, t.l2_bytes = row->l2 << 10, t.l3_bytes = row->l3 << 10;
  t.l2_gbps = row->l2_gbps, t.l3_gbps = row->l3_gbps, t.dram_gbps = row->dram_gbps;
  RELAY_RETURN_IF_ERROR(leave_out(t, std::span(parts).subspan(1)));
  return t;
}

}  // namespace relay::target
