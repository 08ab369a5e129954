#include "relay/runtime/devices/device_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "relay/base/bytes.h"
#include "relay/runtime/index_steps.h"
#include "relay/runtime/segment_runner.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

// --- constants -------------------------------------------------------------------------------------------------------

Result<OnDevice> allocate_on(Device& device, int64_t bytes, const std::string& what) {
  void* memory = device.allocate(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
  if (memory != nullptr) return OnDevice(memory, {&device});
  Diagnostic d{DiagnosticKind::out_of_memory,
               format("no memory on {} for {}: {}", str(device.name()), what, bytes_text(bytes))};
  if (const std::string limits = device.limits(); !limits.empty()) d.notes.push_back(limits);
  d.help = "use smaller inputs, such as a smaller batch, or another device";
  return d;
}

Result<std::shared_ptr<const DeviceProgram>> DeviceProgram::create(
    const Program& program, const std::shared_ptr<const KernelLibrary>& library) {
  RELAY_ASSIGN(const uint32_t number, device_number(*library->device()));
  std::shared_ptr<DeviceProgram> made(new DeviceProgram(runtime::device(number)));
  if (!program.externals.empty())
    return Diagnostic{
        DiagnosticKind::not_supported,
        format("the program calls functions of {}, which run on the CPU only", program.externals[0].library),
        {},
        {},
        {},
        "leave out the option that gives parts of the program to other libraries"};
  for (const KernelEntry& kernel : program.kernels) {
    RELAY_ASSIGN(std::shared_ptr<const DeviceKernel> loaded, made->device_.load(library, kernel.name));
    made->kernels_.push_back(std::move(loaded));
  }
  std::vector<bool> by_segments(program.constants.size()), by_any;
  for (const Segment& s : program.segments)
    for (const Array& a : s.arrays)
      if (a.kind == Array::Kind::Constant) by_segments[a.index] = true;
  by_any = by_segments;
  for (const Preparation& p : program.preparations)
    for (uint32_t arg : p.args) by_any[arg] = true;
  RELAY_RETURN_IF_ERROR(made->upload(program, by_any));
  for (const Preparation& p : program.preparations) RELAY_RETURN_IF_ERROR(made->prepare(program, p));
  RELAY_RETURN_IF_ERROR(made->device_.synchronise());
  for (size_t c = 0; c < program.constants.size(); ++c)
    if (!by_segments[c]) made->constants_[c].reset();
  return std::shared_ptr<const DeviceProgram>(std::move(made));
}

Status DeviceProgram::upload(const Program& program, const std::vector<bool>& is_read) {
  constants_.resize(program.constants.size());
  for (size_t c = 0; c < program.constants.size(); ++c) {
    const Tensor& constant = program.constants[c];
    if (!is_read[c]) continue;
    RELAY_ASSIGN(constants_[c], allocate_on(device_, static_cast<int64_t>(constant.bytes()), "the weights"));
    if (constant.bytes() == 0) continue;
    // Elements that the kernel of a preparation does not write are padding, which is zero.
    const void* data = constant.data();
    std::shared_ptr<const void> zeros;
    if (is_prepared(constant)) {
      zeros = zeroed_array(constant.bytes());
      if (!zeros) return Diagnostic{DiagnosticKind::out_of_memory, "no memory for a weight", {}, {}, {}, "free memory"};
      data = zeros.get();
    }
    RELAY_RETURN_IF_ERROR(device_.upload(constants_[c].get(), data, constant.bytes()));
  }
  return ok();
}

Status DeviceProgram::prepare(const Program& program, const Preparation& preparation) {
  std::vector<void*> arrays;
  for (uint32_t arg : preparation.args) arrays.push_back(constants_[arg].get());
  if (preparation.tasks <= 0) return ok();
  ThreadPool::Session session(ThreadPool::global());
  return device_.launch(*kernels_[preparation.kernel], {arrays, preparation.sizes, preparation.tasks,
                                                        program.kernels[preparation.kernel].scratch_bytes, session});
}

// --- segments --------------------------------------------------------------------------------------------------------

DeviceSegment::DeviceSegment(const DeviceProgram& on_device, const Program& program, const Segment& segment,
                             const Plan& plan)
    : on_device_(on_device), device_(on_device.device()), program_(program), segment_(segment), plan_(plan) {}

std::string DeviceSegment::name_of(uint32_t array) const {
  const Array& a = segment_.arrays[array];
  return format("{} `{}`", a.kind == Array::Kind::Input ? "the input" : "the result", a.name);
}

Status DeviceSegment::allocate() {
  if (!arrays_.empty() || segment_.arrays.empty()) return ok();
  std::vector<std::byte*> arrays(segment_.arrays.size());
  auto add = [&](int64_t bytes, const std::string& what) -> Result<std::byte*> {
    RELAY_ASSIGN(OnDevice block, allocate_on(device_, bytes, what));
    blocks_.push_back(std::move(block));
    return static_cast<std::byte*>(blocks_.back().get());
  };
  std::byte* arena = nullptr;
  if (plan_.arena_bytes > 0) {
    RELAY_ASSIGN(arena, add(plan_.arena_bytes, format("the temporaries of segment `{}`", segment_.name)));
  }
  for (uint32_t i = 0; i < arrays.size(); ++i) {
    const Array& a = segment_.arrays[i];
    switch (a.kind) {
      case Array::Kind::Constant: arrays[i] = static_cast<std::byte*>(on_device_.constant(a.index)); break;
      case Array::Kind::Temporary: arrays[i] = arena + plan_.offsets[i]; break;
      case Array::Kind::View: break;
      case Array::Kind::Input:
      case Array::Kind::Output: {
        RELAY_ASSIGN(arrays[i], add(plan_.bytes[i], name_of(i)));
        break;
      }
    }
  }
  // The offset of a view in an output is from there, and in a temporary from the beginning of the arena.
  for (uint32_t i = 0; i < arrays.size(); ++i) {
    const Array& a = segment_.arrays[i];
    if (a.kind == Array::Kind::View)
      arrays[i] = (segment_.arrays[a.index].kind == Array::Kind::Output ? arrays[a.index] : arena) + plan_.offsets[i];
  }
  arrays_ = std::move(arrays);
  return ok();
}

Status DeviceSegment::upload(const RunState& state) {
  for (uint32_t i = 0; i < arrays_.size(); ++i) {
    const Array& a = segment_.arrays[i];
    if (a.kind == Array::Kind::Input && plan_.bytes[i] > 0)
      RELAY_RETURN_IF_ERROR(device_.upload(arrays_[i], state.inputs[a.index], static_cast<size_t>(plan_.bytes[i])));
  }
  for (uint32_t i = 0; i < arrays_.size(); ++i)
    if (const std::optional<InPlace>& in = segment_.arrays[i].in_place; in && in->updates && plan_.bytes[i] > 0)
      RELAY_RETURN_IF_ERROR(
          device_.copy(arrays_[i], arrays_[segment_.inputs[in->input]], static_cast<size_t>(plan_.bytes[i])));
  return ok();
}

Status DeviceSegment::run_kernel(const RunState& state, const Step& step, std::optional<int64_t> repetition) {
  const int64_t tasks = plan_.sizes[step.tasks];
  if (tasks <= 0) return ok();
  std::vector<void*> arrays;
  const uint32_t count = step.args.count - (step.kind == Step::Kind::KernelWhen);
  for (uint32_t i = 0; i < count; ++i) arrays.push_back(arrays_[segment_.operands[step.args.begin + i]]);
  const int64_t* first = plan_.sizes.data() + step.sizes.begin;
  std::vector<int64_t> sizes(first, first + step.sizes.count);
  if (repetition) sizes[0] = *repetition;
  return device_.launch(on_device_.kernel(step.kernel),
                        {arrays, sizes, tasks, program_.kernels[step.kernel].scratch_bytes, state.session});
}

// True if the array has a byte that is not zero.
Result<bool> DeviceSegment::has_flag(uint32_t array) {
  std::vector<std::byte> flags(static_cast<size_t>(plan_.bytes[array]));
  if (!flags.empty()) RELAY_RETURN_IF_ERROR(device_.download(flags.data(), arrays_[array], flags.size()));
  return std::any_of(flags.begin(), flags.end(), [](std::byte b) { return b != std::byte{0}; });
}

Status DeviceSegment::check(const RunState& state, const Step& step) {
  const uint32_t array = segment_.operands[step.args.begin];
  const Array& a = segment_.arrays[array];
  if (a.kind == Array::Kind::Input) return check_indices(segment_, plan_, step, state.inputs[a.index]);
  std::vector<std::byte> copy(static_cast<size_t>(plan_.bytes[array]));
  if (!copy.empty()) RELAY_RETURN_IF_ERROR(device_.download(copy.data(), arrays_[array], copy.size()));
  return check_indices(segment_, plan_, step, copy.data());
}

Status DeviceSegment::step(const RunState& state, uint32_t number, std::optional<int64_t> repetition) {
  const Step& step = segment_.steps[number];
  const uint32_t* args = segment_.operands.data() + step.args.begin;
  switch (step.kind) {
    case Step::Kind::Kernel: break;
    case Step::Kind::KernelWhen: {
      RELAY_ASSIGN(const bool runs, has_flag(args[step.args.count - 1]));
      if (!runs) return ok();
      break;
    }
    case Step::Kind::Copy: {
      const size_t bytes = static_cast<size_t>(plan_.bytes[args[0]]);
      return bytes == 0 ? ok() : device_.copy(arrays_[args[1]], arrays_[args[0]], bytes);
    }
    case Step::Kind::CheckIndices: return check(state, step);
    case Step::Kind::External: return ok();  // DeviceProgram refuses such programs
  }
  if (state.report) ++state.report->kernel_calls;
  return run_kernel(state, step, repetition);
}

Status DeviceSegment::download(const RunState& state) {
  std::vector<bool> done(arrays_.size());
  for (size_t i = 0; i < segment_.outputs.size(); ++i) {
    const uint32_t array = segment_.outputs[i];
    if (segment_.arrays[array].kind != Array::Kind::Output || done[array]) continue;
    done[array] = true;
    const size_t bytes = static_cast<size_t>(plan_.bytes[array]);
    if (bytes > 0) RELAY_RETURN_IF_ERROR(device_.download(state.outputs[i], arrays_[array], bytes));
  }
  return ok();
}

Status DeviceSegment::run(const RunState& state) {
  RELAY_RETURN_IF_ERROR(allocate());
  RELAY_RETURN_IF_ERROR(upload(state));
  using Clock = std::chrono::steady_clock;
  auto us = [](Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); };
  auto run_step = [&](uint32_t number, std::optional<int64_t> repetition) -> Status {
    if (state.report == nullptr || !state.report->time_steps) return step(state, number, repetition);
    const Clock::time_point start = Clock::now();
    RELAY_RETURN_IF_ERROR(step(state, number, repetition));
    RELAY_RETURN_IF_ERROR(device_.synchronise());
    const Step& s = segment_.steps[number];
    StepTime& time = state.report->steps.emplace_back();
    time.kernel = runtime::name_of(program_, s), time.us = us(Clock::now() - start);
    time.begin_us = us(start.time_since_epoch());
    time.segment = static_cast<uint32_t>(&segment_ - program_.segments.data()), time.step = number;
    time.tasks = s.kind == Step::Kind::Kernel || s.kind == Step::Kind::KernelWhen ? plan_.sizes[s.tasks] : 1;
    for (uint32_t i = 0; i < s.args.count; ++i) time.bytes += plan_.bytes[segment_.operands[s.args.begin + i]];
    return ok();
  };
  uint32_t next = 0;
  for (const Repeat& r : segment_.repeats) {
    for (; next < r.first; ++next) RELAY_RETURN_IF_ERROR(run_step(next, {}));
    for (int64_t time = 0; time < plan_.sizes[r.times]; ++time)
      for (uint32_t s = r.first; s < r.first + r.count; ++s) RELAY_RETURN_IF_ERROR(run_step(s, time));
    next = r.first + r.count;
  }
  for (; next < segment_.steps.size(); ++next) RELAY_RETURN_IF_ERROR(run_step(next, {}));
  RELAY_RETURN_IF_ERROR(device_.synchronise());
  return download(state);
}

}  // namespace relay::runtime
