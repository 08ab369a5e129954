#include "relay/js_package/module.h"

#include <algorithm>
#include <map>

#include "relay/tensor/index_check.h"

namespace relay::js_package {

using c_project::Location;
using c_project::Memory;
using c_project::Place;
using codegen::WasmBlock;
using codegen::WasmPlace;
using codegen::WasmStep;
using runtime::Array;
using runtime::Step;

namespace {

class Builder {
 public:
  Builder(const runtime::Program& graph, const Memory& memory, bool weights_outside)
      : graph_(graph), f_(graph.graph()), memory_(memory), weights_outside_(weights_outside) {}

  Module build(const std::string& identity) {
    add("relay_identity", static_cast<int64_t>(identity.size()), identity);
    workspace_ = add("", memory_.workspace_bytes);
    for (uint32_t i = 0, inputs = 0, states = 0; i < f_.inputs.size(); ++i) {
      const bool is_state = memory_.state[i].has_value();
      const int64_t bytes = memory_.plan.bytes[f_.inputs[i]];
      inputs_.push_back(is_state ? add(format("relay_state_{}", states++), bytes)
                                 : add(format("relay_input_{}", inputs++), bytes));
    }
    std::vector<bool> is_new_state(f_.outputs.size());
    for (const std::optional<uint32_t>& result : memory_.state)
      if (result) is_new_state[*result] = true;
    for (uint32_t o = 0, outputs = 0; o < f_.outputs.size(); ++o)
      outputs_.push_back(
          is_new_state[o] ? none : add(format("relay_output_{}", outputs++), memory_.plan.bytes[f_.outputs[o]]));
    if (weights_outside_) weights_ = add("relay_weights", 0);
    first_copies();
    steps();
    last_copies();
    preparations();
    if (weights_outside_) program().blocks[weights_].bytes = static_cast<int64_t>(out_.weights.size());
    return std::move(out_);
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  codegen::WasmProgram& program() { return out_.program; }

  uint32_t add(std::string name, int64_t bytes, std::string_view contents = {}) {
    program().blocks.push_back({std::move(name), bytes, contents});
    return static_cast<uint32_t>(program().blocks.size() - 1);
  }

  WasmPlace constant(uint32_t index) {
    const auto [known, fresh] = constants_.try_emplace(index);
    if (!fresh) return known->second;
    const Tensor& values = graph_.constants[index];
    if (runtime::is_prepared(values)) return known->second = {add("", static_cast<int64_t>(values.bytes())), 0};
    const std::string_view bytes(static_cast<const char*>(values.data()), values.bytes());
    out_.weight_bytes += static_cast<int64_t>(bytes.size());
    if (weights_outside_) {
      known->second = {weights_, static_cast<int64_t>(out_.weights.size())};
      out_.weights += bytes;
      out_.weights.resize((out_.weights.size() + 63) / 64 * 64);
    } else {
      known->second = {add("", static_cast<int64_t>(bytes.size()), bytes), 0};
    }
    return known->second;
  }

  WasmPlace place(uint32_t array) {
    const Location& at = memory_.arrays[array];
    switch (at.place) {
      case Place::Input:
      case Place::State: return {inputs_[at.index], at.offset};
      case Place::Output: return {outputs_[at.index], at.offset};
      case Place::Workspace: return {workspace_, at.offset};
      case Place::Constant: break;
    }
    WasmPlace found = constant(at.index);
    found.offset += at.offset;
    return found;
  }

  void copy(WasmPlace from, WasmPlace to, int64_t bytes) {
    if (bytes > 0) program().steps.push_back({.kind = WasmStep::Kind::Copy, .arrays = {from, to}, .bytes = bytes});
  }

  // Results that are inputs: first, before a step changes state. Outputs of which steps write only a part.
  void first_copies() {
    for (uint32_t o = 0; o < f_.outputs.size(); ++o)
      if (outputs_[o] != none && f_.arrays[f_.outputs[o]].kind == Array::Kind::Input)
        copy(place(f_.outputs[o]), {outputs_[o], 0}, memory_.plan.bytes[f_.outputs[o]]);
    for (uint32_t i = 0; i < f_.arrays.size(); ++i) {
      const Array& a = f_.arrays[i];
      if (a.in_place && a.in_place->updates && memory_.arrays[i].place != Place::State)
        copy(place(f_.inputs[a.in_place->input]), place(i), memory_.plan.bytes[i]);
    }
  }

  // Results that are constants, results that are returned twice, and state that was computed elsewhere.
  void last_copies() {
    for (uint32_t o = 0; o < f_.outputs.size(); ++o) {
      if (outputs_[o] == none) continue;
      const uint32_t array = f_.outputs[o];
      const Array::Kind kind = f_.arrays[array].kind;
      const Location& at = memory_.arrays[array];
      const bool elsewhere = kind == Array::Kind::Output && (at.place != Place::Output || at.index != o);
      if (kind == Array::Kind::Constant || elsewhere) copy(place(array), {outputs_[o], 0}, memory_.plan.bytes[array]);
    }
    for (uint32_t i = 0; i < f_.inputs.size(); ++i) {
      if (!memory_.state[i]) continue;
      const uint32_t state = f_.inputs[i], result = f_.outputs[*memory_.state[i]];
      if (memory_.arrays[result] == memory_.arrays[state] || result == state) continue;
      copy(place(result), place(state), memory_.plan.bytes[state]);
    }
  }

  // The computations of constants that are larger than their sources, from the last one that a run needs.
  void preparations() {
    std::vector<WasmStep>& made = program().preparations;
    int64_t scratch = 0;
    for (auto p = graph_.preparations.rbegin(); p != graph_.preparations.rend(); ++p) {
      if (!constants_.contains(p->args[p->result])) continue;
      WasmStep call{.kernel = graph_.kernels[p->kernel].name, .sizes = p->sizes, .tasks = p->tasks};
      for (uint32_t c : p->args) call.arrays.push_back(constant(c));
      scratch = std::max(scratch, graph_.kernels[p->kernel].scratch_bytes);
      made.push_back(std::move(call));
    }
    std::ranges::reverse(made);
    program().scratch_bytes = std::max(program().scratch_bytes, scratch);
    const uint32_t block = add("", scratch);
    for (WasmStep& call : made) call.scratch = {block, 0};
  }

  void steps() {
    std::vector<uint32_t> first;  // by step of the graph: its first step in the module
    for (const Step& step : f_.steps) {
      first.push_back(static_cast<uint32_t>(program().steps.size()));
      add_step(step);
    }
    first.push_back(static_cast<uint32_t>(program().steps.size()));
    for (const runtime::Repeat& r : f_.repeats)
      program().repeats.push_back(
          {first[r.first], first[r.first + r.count] - first[r.first], memory_.plan.sizes[r.times]});
  }

  void add_step(const Step& step) {
    const uint32_t* args = f_.operands.data() + step.args.begin;
    if (step.kind == Step::Kind::Copy) return copy(place(args[0]), place(args[1]), memory_.plan.bytes[args[0]]);
    if (step.kind == Step::Kind::CheckIndices) return add_check(step);
    WasmStep call;
    call.kernel = graph_.kernels[step.kernel].name;
    for (uint32_t i = 0; i < step.args.count; ++i) call.arrays.push_back(place(args[i]));
    for (uint32_t s = 0; s < step.sizes.count; ++s) call.sizes.push_back(memory_.plan.sizes[step.sizes.begin + s]);
    call.tasks = memory_.plan.sizes[step.tasks];
    program().scratch_bytes = std::max(program().scratch_bytes, graph_.kernels[step.kernel].scratch_bytes);
    call.scratch = {workspace_, memory_.scratch[static_cast<size_t>(&step - f_.steps.data())].offset};
    if (step.kind == Step::Kind::KernelWhen) {
      call.kind = WasmStep::Kind::CallWhen;
      call.bytes = memory_.plan.bytes[args[step.args.count - 1]];
    }
    program().steps.push_back(std::move(call));
  }

  void add_check(const Step& step) {
    const runtime::IndexCheck& check = f_.index_checks[step.kernel];
    const uint32_t array = f_.operands[step.args.begin];
    const Shape& shape = memory_.plan.shapes[array];
    const DType dtype = f_.arrays[array].dtype;
    const bool from_end = check.axes[0] != no_axis && dtype.code == DType::Code::Int;
    const int64_t count = *element_count(shape);
    int64_t inner = count;
    if (check.axes.size() > 1) {
      inner = 1;
      for (size_t d = check.rows == Rows::Added ? 2 : 1; d < shape.size(); ++d) inner *= shape[d];
    }
    const std::string op = check.op.substr(0, check.op.find('\n'));
    for (int64_t at = 0; inner > 0 && at < count; at += inner) {
      const int64_t extent = memory_.plan.sizes[step.sizes.begin + static_cast<size_t>(at / inner) % step.sizes.count];
      WasmPlace first = place(array);
      first.offset += at * dtype.bytes();
      program().steps.push_back({.kind = WasmStep::Kind::Check,
                                 .arrays = {first},
                                 .dtype = dtype,
                                 .count = std::min(inner, count - at),
                                 .least = from_end ? -extent : 0,
                                 .end = extent,
                                 .failure = static_cast<uint32_t>(out_.failures.size())});
      // Without folders: a package does not depend on where its model was.
      const std::string file = check.place.substr(check.place.rfind('/') + 1);
      out_.failures.push_back(format("an index of {} is out of range: expected {} to {}{}", op, from_end ? -extent : 0,
                                     extent - 1, file.empty() ? "" : ", at " + file));
    }
  }

  const runtime::Program& graph_;
  const runtime::Segment& f_;
  const Memory& memory_;
  const bool weights_outside_;
  Module out_;
  uint32_t workspace_ = 0, weights_ = 0;
  std::vector<uint32_t> inputs_, outputs_;  // blocks; `none` for a result that is state
  std::map<uint32_t, WasmPlace> constants_;
};

}  // namespace

Module module_of(const runtime::Program& graph, const Memory& memory, const std::string& identity,
                 bool weights_outside) {
  return Builder(graph, memory, weights_outside).build(identity);
}

}  // namespace relay::js_package
