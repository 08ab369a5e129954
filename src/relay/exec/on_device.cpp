#include "relay/exec/on_device.h"

namespace relay::exec {

using runtime::Array;
using runtime::Segment;
using runtime::Step;

namespace {

constexpr MemorySpace device_memory = 1;

class SegmentMover {
 public:
  SegmentMover(const Segment& from, const std::vector<int>& lowered_steps)
      : from_(from), lowered_(lowered_steps), out_(from), there_(from.arrays.size()), here_(from.arrays.size()) {
    out_.steps.clear(), out_.operands.clear();
    for (uint32_t i = 0; i < from_.arrays.size(); ++i) place(i);
  }

  void run() {
    for (uint32_t input : from_.inputs)
      if (is_computed_with(input)) copy(input, on_device(input));
    for (uint32_t i = 0; i < from_.arrays.size(); ++i)
      if (from_.arrays[i].in_place && from_.arrays[i].in_place->updates) begin_update(i);
    std::vector<uint32_t> moved;  // by step: its number now
    for (size_t s = 0; s < from_.steps.size(); ++s) {
      const Step& step = from_.steps[s];
      std::vector<uint32_t> args;
      for (uint32_t array : from_.args(step)) {
        const bool is_flag = step.kind == Step::Kind::KernelWhen && args.size() + 1 == step.args.count;
        args.push_back(is_flag || step.kind == Step::Kind::CheckIndices ? on_host(array) : on_device(array));
      }
      moved.push_back(static_cast<uint32_t>(out_.steps.size()));
      add(step, args, s < lowered_.size() ? lowered_[s] : -1);
    }
    for (runtime::Repeat& r : out_.repeats) r.first = moved[r.first];
    for (uint32_t i = 0; i < from_.arrays.size(); ++i)
      if (from_.arrays[i].kind == Array::Kind::Output) copy(on_device(i), i);
  }

  Segment segment() { return std::move(out_); }
  std::vector<int> lowered_steps() { return std::move(lowered_now_); }

 private:
  // The array of the device that stands for an array of the segment.
  void place(uint32_t i) {
    Array& a = out_.arrays[i];
    if (a.kind == Array::Kind::Temporary || a.kind == Array::Kind::View) {
      a.memory = device_memory, there_[i] = i;
      if (a.kind == Array::Kind::View) {
        const uint32_t base = on_device(a.index);
        out_.arrays[i].index = base;
      }
    }
  }

  uint32_t on_device(uint32_t i) {
    if (there_[i]) return *there_[i];
    Array made = from_.arrays[i];
    made.memory = device_memory;
    if (made.kind != Array::Kind::Constant) made.kind = Array::Kind::Temporary, made.index = 0;
    made.in_place.reset(), made.rows = Rows::None;
    return *(there_[i] = add(std::move(made)));
  }

  // The array itself if the host has it, or else a copy of its elements as they are now.
  uint32_t on_host(uint32_t i) {
    const Array& a = from_.arrays[i];
    if (a.kind == Array::Kind::Input || a.kind == Array::Kind::Constant) return i;
    if (!here_[i]) {
      Array made = a;
      made.kind = Array::Kind::Temporary, made.index = 0, made.offset = {}, made.memory = host_memory;
      made.in_place.reset(), made.rows = Rows::None;
      here_[i] = add(std::move(made));
    }
    copy(on_device(i), *here_[i]);
    return *here_[i];
  }

  uint32_t add(Array array) {
    out_.arrays.push_back(std::move(array));
    return static_cast<uint32_t>(out_.arrays.size()) - 1;
  }

  void add(Step step, const std::vector<uint32_t>& args, int lowered_step) {
    step.args = {static_cast<uint32_t>(out_.operands.size()), static_cast<uint32_t>(args.size())};
    out_.operands.insert(out_.operands.end(), args.begin(), args.end());
    out_.steps.push_back(step);
    lowered_now_.push_back(lowered_step);
  }
  void copy(uint32_t from, uint32_t to) {
    Step step;
    step.kind = Step::Kind::Copy;
    add(step, {from, to}, -1);
  }

  // The result has the elements of the input before the first step.
  void begin_update(uint32_t output) {
    copy(on_device(from_.inputs[from_.arrays[output].in_place->input]), on_device(output));
    out_.arrays[output].in_place->updates = false;
  }

  bool is_computed_with(uint32_t array) const {
    for (const Step& step : from_.steps)
      if (step.kind != Step::Kind::CheckIndices)
        for (uint32_t arg : from_.args(step))
          if (arg == array) return true;
    for (const Array& a : from_.arrays)
      if (a.in_place && a.in_place->updates && from_.inputs[a.in_place->input] == array) return true;
    return false;
  }

  const Segment& from_;
  const std::vector<int>& lowered_;
  Segment out_;
  std::vector<int> lowered_now_;
  std::vector<std::optional<uint32_t>> there_, here_;  // by array: on the device, and on the host
};

}  // namespace

Status move_to_device(Parts& parts, const DeviceName& device) {
  if (!parts.program.externals.empty())
    return Diagnostic{
        DiagnosticKind::not_supported,
        format("the program calls functions of {}, which run on the CPU only", parts.program.externals[0].library),
        {},
        {},
        {},
        "leave out the option that gives parts of the program to other libraries"};
  parts.program.devices = {DeviceName{}, device};
  for (size_t s = 0; s < parts.program.segments.size(); ++s) {
    SegmentMover mover(parts.program.segments[s], parts.lowered_steps[s]);
    mover.run();
    Segment moved = mover.segment();
    parts.lowered_steps[s] = mover.lowered_steps();
    parts.program.segments[s] = std::move(moved);
  }
  return ok();
}

}  // namespace relay::exec
