#include "relay/runtime/segment_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "relay/runtime/external.h"
#include "relay/tensor/index_check.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

using Clock = std::chrono::steady_clock;
static double us(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

SegmentRunner::SegmentRunner(const LinkedProgram& linked, const Segment& f, const Plan& plan)
    : linked_(linked),
      code_(linked.code->now()),
      plan_(plan),
      segment_(static_cast<uint32_t>(&f - linked.program->segments.data())) {
  const Program& program = *linked.program;
  size_t slots = 0;
  for (const Step& in : f.steps) slots += in.args.count;
  params_.resize(slots);  // never grows: calls point into it
  std::vector<uint32_t> output_of(f.arrays.size(), 0);
  for (size_t i = f.outputs.size(); i-- > 0;)
    output_of[f.outputs[i]] = static_cast<uint32_t>(i);  // the first, if returned twice
  std::vector<Call> of_steps;
  for (uint32_t i = 0; i < f.arrays.size(); ++i)
    if (const std::optional<InPlace>& in = f.arrays[i].in_place; in && in->updates)
      updates_.push_back({output_of[i], in->input, plan.bytes[i], linked.device_numbers[f.arrays[i].memory]});
  if (program.devices.size() > 1) device_steps_.reserve(f.steps.size());  // never grows: calls point into it
  uint32_t slot = 0;
  for (const Step& in : f.steps) {
    Call c{};
    c.step = static_cast<uint32_t>(&in - f.steps.data());
    c.params = params_.data() + slot;
    for (uint32_t i = 0; i < in.args.count; ++i, ++slot) {
      uint32_t array = f.operands[in.args.begin + i];
      const uint32_t* args = f.operands.data() + in.args.begin;
      if (std::find(args, args + i, array) == args + i) c.bytes += plan.bytes[array];
      place(slot, f, array, output_of);
    }
    if (in.kind == Step::Kind::CheckIndices) {
      c.check = &f.index_checks[in.kernel];
      c.shape = plan.sizes.data() + in.sizes.begin, c.sizes = in.sizes.count;
      c.tasks = element_count(plan.shapes[f.operands[in.args.begin]]).value_or(0);
    } else if (in.kind == Step::Kind::External) {
      c.external = linked.externals[in.kernel].get();
      c.first_array = external_arrays_.size(), c.arrays = in.args.count;
      for (uint32_t i = 0; i < in.args.count; ++i) {
        const uint32_t array = f.operands[in.args.begin + i];
        external_arrays_.push_back(external_array(nullptr, plan.shapes[array], f.arrays[array].dtype));
      }
      c.tasks = 1;
    } else if (in.kind != Step::Kind::Copy) {
      if (in.kind == Step::Kind::KernelWhen) {
        c.when = c.params + in.args.count - 1;
        c.when_bytes = plan.bytes[f.operands[in.args.begin + in.args.count - 1]];
      }
      c.kernel = code_->kernels[in.kernel];
      c.shape = plan.sizes.data() + in.sizes.begin, c.sizes = in.sizes.count;
      c.tasks = plan.sizes[in.tasks];
      c.scratch_bytes = program.kernels[in.kernel].scratch_bytes;
    } else {
      c.tasks = plan.bytes[f.operands[in.args.begin]];
    }
    if (program.devices.size() > 1) begin_device_step(f, in, c);
    of_steps.push_back(c);
  }
  add_calls(f, of_steps);
}

// Binds the address of a step's argument, or notes what it depends on.
void SegmentRunner::place(uint32_t slot, const Segment& f, uint32_t array, const std::vector<uint32_t>& output_of) {
  const Array& a = f.arrays[array];
  switch (a.kind) {
    case Array::Kind::Input: input_slots_.push_back({slot, a.index}); break;
    case Array::Kind::Output: output_slots_.push_back({slot, output_of[array]}); break;
    case Array::Kind::Constant:
      params_[slot] = a.memory == host_memory ? const_cast<void*>(linked_.program->constants[a.index].data())
                                              : linked_.devices[a.memory].constants.at(a.index).get();
      break;
    case Array::Kind::View:
      if (f.arrays[a.index].kind == Array::Kind::Output) {
        output_slots_.push_back({slot, output_of[a.index], plan_.offsets[array]});
        break;
      }
      [[fallthrough]];
    case Array::Kind::Temporary:
      if (a.memory == host_memory)
        arena_slots_.push_back({slot, plan_.offsets[array]});
      else
        device_slots_.push_back({slot, a.memory, plan_.offsets[array]});
      break;
  }
}

// Completes the call of a step that the host does not run alone.
void SegmentRunner::begin_device_step(const Segment& f, const Step& step, Call& c) {
  const MemorySpace at = f.device_of(step);
  if (step.kind == Step::Kind::Copy) {
    const MemorySpace from = f.arrays[f.operands[step.args.begin]].memory;
    if (from == host_memory && at == host_memory) return;
    device_steps_.push_back({linked_.device_numbers[from], linked_.device_numbers[at], nullptr, {}});
    if (c.tasks > 0 && from != at) ++transfers_, transferred_bytes_ += c.tasks;
  } else if (at != host_memory) {
    c.kernel = nullptr;
    c.arrays = step.args.count - (c.when ? 1 : 0);
    device_steps_.push_back(
        {host_device, linked_.device_numbers[at], linked_.devices[at].kernels[step.kernel].get(), {}});
    for (uint32_t i = 0; i < c.arrays; ++i)
      device_steps_.back().bytes.push_back(plan_.bytes[f.operands[step.args.begin + i]]);
  } else {
    return;
  }
  c.elsewhere = &device_steps_.back();
}

// Adds the calls in execution order: repeated ones once per repetition, each with its own sizes.
void SegmentRunner::add_calls(const Segment& f, const std::vector<Call>& of_steps) {
  auto add = [&](const Call& c) {
    if (c.tasks > 0) calls_.push_back(c);
  };
  size_t numbered = 0;
  for (const Repeat& r : f.repeats)
    for (uint32_t s = r.first; s < r.first + r.count; ++s)
      numbered += of_steps[s].sizes * static_cast<size_t>(std::max<int64_t>(plan_.sizes[r.times], 0));
  numbered_sizes_.reserve(numbered);  // never grows: calls point into it
  size_t next = 0;
  for (const Repeat& r : f.repeats) {
    for (; next < r.first; ++next) add(of_steps[next]);
    for (int64_t time = 0; time < plan_.sizes[r.times]; ++time)
      for (uint32_t s = r.first; s < r.first + r.count; ++s) {
        Call c = of_steps[s];
        const size_t begin = numbered_sizes_.size();
        numbered_sizes_.insert(numbered_sizes_.end(), c.shape, c.shape + c.sizes);
        c.shape = numbered_sizes_.data() + begin;
        numbered_sizes_[begin] = time;
        add(c);
      }
    next = r.first + r.count;
  }
  for (; next < of_steps.size(); ++next) add(of_steps[next]);
  find_sequences();
}

// Finds what a device can start as one. Longer sequences than `most` are cut, so that a change of one argument costs
// little.
void SegmentRunner::find_sequences() {
  constexpr size_t most = 4096;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const DeviceStep* step = calls_[i].elsewhere;
    if (step == nullptr || calls_[i].when != nullptr) continue;
    if (step->kernel == nullptr && step->from != step->device) continue;
    Sequence* last = sequences_.empty() ? nullptr : &sequences_.back();
    if (last && last->first + last->count == i && last->device == step->device && last->count < most)
      ++last->count;
    else
      sequences_.push_back({i, 1, step->device, nullptr});
  }
  std::erase_if(sequences_, [](const Sequence& one) { return one.count == 1; });
}

void SegmentRunner::bind(const RunState& state) {
  if (state.arena != arena_) {
    arena_ = state.arena;
    for (const ArenaSlot& s : arena_slots_) params_[s.slot] = arena_ + s.offset;
  }
  for (const DeviceSlot& s : device_slots_) params_[s.slot] = state.device_arenas[s.memory] + s.offset;
  for (const OuterSlot& s : input_slots_) params_[s.slot] = state.inputs[s.index];
  for (const OuterSlot& s : output_slots_) params_[s.slot] = static_cast<std::byte*>(state.outputs[s.index]) + s.offset;
}

// Copies inputs to outputs that are to be updated but do not share their storage.
Status SegmentRunner::begin_updates(const RunState& state) {
  constexpr int64_t block = 1 << 18;  // bytes per task
  for (const Update& u : updates_) {
    std::byte* to = static_cast<std::byte*>(state.outputs[u.output]);
    const std::byte* from = static_cast<const std::byte*>(state.inputs[u.input]);
    if (to == from || u.bytes == 0) continue;
    if (state.report) state.report->copied_bytes += u.bytes;
    if (u.device != host_device) {
      RELAY_RETURN_IF_ERROR(copy_between(u.device, from, u.device, to, static_cast<size_t>(u.bytes)));
      continue;
    }
    auto range = [=](int64_t begin, int64_t end, int) {
      std::memcpy(to + begin * block, from + begin * block,
                  static_cast<size_t>(std::min(end * block, u.bytes) - begin * block));
    };
    state.session.parallel((u.bytes + block - 1) / block, range, 0);
  }
  return ok();
}

// True unless the call has a condition that is false.
inline bool SegmentRunner::holds(const Call& c) const {
  if (c.when == nullptr) return true;
  const std::byte* flags = static_cast<const std::byte*>(*c.when);
  return !std::all_of(flags, flags + c.when_bytes, [](std::byte b) { return b == std::byte{0}; });
}

Launch SegmentRunner::launch_of(const Call& c, ThreadPool::Session& session) const {
  // A copy's arrays are two.
  const uint32_t arrays = c.elsewhere->kernel == nullptr ? 2 : c.arrays;
  return {{c.params, arrays}, c.elsewhere->bytes, {c.shape, c.sizes}, c.tasks, c.scratch_bytes, session};
}

bool SegmentRunner::start(Sequence& sequence, ThreadPool::Session& session) {
  operations_.clear();
  for (size_t i = sequence.first; i < sequence.first + sequence.count; ++i)
    operations_.push_back({calls_[i].elsewhere->kernel, launch_of(calls_[i], session)});
  std::optional<FloatScope> scope;
  Device& on = device(sequence.device);
  if (on.name().kind != "cpu") scope.emplace(outside_);
  const Status done = on.start(operations_, sequence.kept);
  if (done) return true;
  return failed_ = &calls_[sequence.first], step_error_ = done.errors(), false;
}

bool SegmentRunner::call_elsewhere(const Call& c, ThreadPool::Session& session) {
  const DeviceStep& step = *c.elsewhere;
  Status done = ok();
  std::optional<FloatScope> scope;
  if (device(step.device == host_device ? step.from : step.device).name().kind != "cpu") scope.emplace(outside_);
  if (step.kernel == nullptr) {
    done = copy_between(step.from, c.params[0], step.device, c.params[1], static_cast<size_t>(c.tasks));
  } else {
    if (!holds(c)) return false;
    done = device(step.device).launch(*step.kernel, launch_of(c, session));
  }
  if (done) return true;
  return failed_ = &c, step_error_ = done.errors(), false;
}

inline bool SegmentRunner::call(const Call& c, ThreadPool::Session& session) {
  if (c.check != nullptr) return check(c, session);
  if (c.external != nullptr) return call_external(c, session);
  if (c.kernel == nullptr) {
    if (c.elsewhere != nullptr) return call_elsewhere(c, session);
    std::memcpy(c.params[1], c.params[0], static_cast<size_t>(c.tasks));
    return true;
  }
  if (!holds(c)) return false;
  call_kernel(session, c.kernel, c.params, c.shape, c.tasks, c.scratch_bytes, c.threads, out_of_scratch_);
  return true;
}

// Copies arrays that lack the alignment that external functions rely on, such as an input of the program.
bool SegmentRunner::call_external(const Call& c, ThreadPool::Session& session) {
  constexpr uintptr_t alignment = 64;
  const Segment& f = linked_.program->segments[segment_];
  const Step& step = f.steps[c.step];
  const uint32_t inputs = linked_.program->externals[step.kernel].inputs;
  const std::span<relay_external_array> arrays(external_arrays_.data() + c.first_array, c.arrays);
  std::vector<std::pair<uint32_t, std::unique_ptr<void, void (*)(void*)>>> copies;
  for (uint32_t i = 0; i < c.arrays; ++i) {
    arrays[i].data = c.params[i];
    if (reinterpret_cast<uintptr_t>(c.params[i]) % alignment == 0) continue;
    const size_t bytes = static_cast<size_t>(plan_.bytes[f.operands[step.args.begin + i]]);
    void* copy = allocate_array(std::max<size_t>(bytes, 1));
    if (copy == nullptr) return failed_ = &c, step_error_ = {out_of_scratch()}, false;
    copies.emplace_back(i, std::unique_ptr<void, void (*)(void*)>(copy, free_array));
    if (i < inputs && bytes > 0) std::memcpy(copy, c.params[i], bytes);
    arrays[i].data = copy;
  }
  session.rest(true);
  Status status = [&] {
    const FloatScope scope(outside_);
    return c.external->run(arrays, session.threads());
  }();
  session.rest(false);
  if (!status) return failed_ = &c, step_error_ = status.errors(), false;
  for (const auto& [i, copy] : copies) {
    const size_t bytes = static_cast<size_t>(plan_.bytes[f.operands[step.args.begin + i]]);
    if (i >= inputs && bytes > 0) std::memcpy(c.params[i], copy.get(), bytes);
  }
  return true;
}

// The number of indices per extent.
static int64_t slice_of(const Shape& shape, const IndexCheck& check) {
  if (check.axes.size() == 1) return *element_count(shape);
  int64_t inner = 1;
  for (size_t d = check.rows == Rows::Added ? 2 : 1; d < shape.size(); ++d) inner *= shape[d];
  return inner;
}

bool SegmentRunner::check(const Call& c, ThreadPool::Session& session) {
  constexpr int64_t least = 1 << 16, block = 1 << 14;  // indices from which several threads pay, and indices per task
  const Segment& f = linked_.program->segments[segment_];
  const uint32_t array = f.operands[f.steps[c.step].args.begin];
  const std::span<const int64_t> extents(c.shape, c.sizes);
  const int64_t inner = slice_of(plan_.shapes[array], *c.check);
  const DType dtype = f.arrays[array].dtype;
  const bool from_end = c.check->axes[0] != no_axis;
  auto all_in_range = [&](int64_t begin, int64_t end) {
    const std::byte* from = static_cast<const std::byte*>(c.params[0]) + begin * dtype.bytes();
    return !first_out_of_range(from, dtype, end - begin, extents, inner, from_end);
  };
  if (c.tasks < least || c.sizes > 1) {
    if (all_in_range(0, c.tasks)) return true;
  } else {
    std::atomic<bool> wrong{false};
    auto range = [&](int64_t begin, int64_t end, int) {
      if (!all_in_range(begin * block, std::min(end * block, c.tasks))) wrong.store(true, std::memory_order_relaxed);
    };
    session.parallel((c.tasks + block - 1) / block, range, 0);
    if (!wrong.load(std::memory_order_relaxed)) return true;
  }
  failed_ = &c;
  return false;
}

Diagnostic SegmentRunner::index_error(const Call& c) const {
  const Segment& f = linked_.program->segments[segment_];
  const Step& step = f.steps[c.step];
  const IndexCheck& check = *c.check;
  const uint32_t array = f.operands[step.args.begin];
  const Shape& shape = plan_.shapes[array];
  const DType dtype = f.arrays[array].dtype;
  const std::span<const int64_t> extents(c.shape, c.sizes);
  const int64_t inner = slice_of(shape, check);
  const int64_t place = *first_out_of_range(c.params[0], dtype, c.tasks, extents, inner, check.axes[0] != no_axis);
  const size_t which = extent_of(place, extents.size(), inner);
  Shape at = coordinates(place, shape);
  // Positions within the failed call only.
  if (check.rows == Rows::First) at[0] = 0;
  if (check.rows == Rows::Added) at.erase(at.begin());
  Span where;
  if (!check.place.empty()) where.node = std::make_shared<const std::string>(check.place);
  return index_out_of_range(check.op, where, at, c.params[0], dtype, place, check.axes[which], extents[which]);
}

std::vector<StepTime::Memory> SegmentRunner::arrays_of(const Call& c) const {
  const Segment& f = linked_.program->segments[segment_];
  const Range& args = f.steps[c.step].args;
  std::vector<StepTime::Memory> out;
  for (uint32_t i = 0; i < args.count; ++i)
    if (c.params[i]) out.push_back({reinterpret_cast<uintptr_t>(c.params[i]), plan_.bytes[f.operands[args.begin + i]]});
  return out;
}

void SegmentRunner::run_measured(const RunState& state) {
  bool measuring = measuring_ && state.session.threads() > 1;
  if (measuring) measuring_ = false;
  for (Call& c : calls_) {
    int limit = c.threads.limit();
    Clock::time_point start = Clock::now();
    bool ran = call(c, state.session);
    if (c.elsewhere != nullptr && !failed_) {  // for its time
      const FloatScope scope(outside_);
      if (const Status done =
              device(c.elsewhere->device == host_device ? c.elsewhere->from : c.elsewhere->device).synchronise();
          !done)
        failed_ = &c, step_error_ = done.errors();
    }
    if (failed_) return;
    if (ran && c.check == nullptr && state.report) ++state.report->kernel_calls;
    if (!ran) continue;
    double took = us(Clock::now() - start);
    if (measuring && c.kernel) {
      c.threads.record(took);
      measuring_ |= !c.threads.decided();
    }
    if (state.report == nullptr || !state.report->time_steps) continue;
    int threads = static_cast<int>(std::min<int64_t>(c.tasks, limit == 0 ? state.session.threads() : limit));
    const Program& program = *linked_.program;
    const Segment& f = program.segments[segment_];
    std::string name = name_of(program, f, f.steps[c.step]);
    state.report->steps.push_back({std::move(name),
                                   took,
                                   c.tasks,
                                   c.kernel ? threads : 1,
                                   us(start.time_since_epoch()),
                                   c.bytes,
                                   segment_,
                                   c.step,
                                   {c.shape, c.shape + c.sizes},
                                   arrays_of(c),
                                   str(program.devices[f.device_of(f.steps[c.step])])});
  }
}

// The choices of threads were made with the old code.
void SegmentRunner::use(const KernelCode::Table* code) {
  code_ = code;
  const Segment& f = linked_.program->segments[segment_];
  for (Call& c : calls_) {
    if (c.kernel == nullptr) continue;
    c.kernel = code_->kernels[f.steps[c.step].kernel];
    c.threads = {};
  }
  measuring_ = true, decided_runs_ = 0;
}

// The kernels run with the program's control word, and code of others with the caller's.
Status SegmentRunner::run(const RunState& state) {
  outside_ = FloatControl::now();
  const FloatScope scope(kernel_control(linked_.program->keeps_subnormals));
  return run_calls(state);
}

Status SegmentRunner::run_calls(const RunState& state) {
  if (const KernelCode::Table* now = linked_.code->now(); now != code_) use(now);
  bind(state);
  if (!updates_.empty()) RELAY_RETURN_IF_ERROR(begin_updates(state));
  if (!measuring_ && state.session.threads() > 1 && ++decided_runs_ == ThreadChoice::kept_runs) {
    for (Call& c : calls_) c.threads.measure_again();
    measuring_ = true, decided_runs_ = 0;
  }
  if ((measuring_ && state.session.threads() > 1) || (state.report && state.report->time_steps)) {
    run_measured(state);
  } else {
    int64_t ran = 0;
    auto sequence = sequences_.begin();
    for (size_t i = 0; i < calls_.size() && !failed_;) {
      if (sequence != sequences_.end() && sequence->first == i) {
        if (start(*sequence, state.session)) ran += static_cast<int64_t>(sequence->count);
        i += sequence->count, ++sequence;
        continue;
      }
      ran += call(calls_[i], state.session) && calls_[i].check == nullptr;
      ++i;
    }
    if (state.report) state.report->kernel_calls += ran;
  }
  if (state.report && transfers_ > 0) {
    state.report->kernel_calls -= transfers_;
    state.report->transfers += transfers_, state.report->transferred_bytes += transferred_bytes_;
  }
  const Call* failed = std::exchange(failed_, nullptr);
  if (out_of_scratch_.exchange(false, std::memory_order_relaxed)) return out_of_scratch();
  if (failed && failed->check) return index_error(*failed);
  if (failed) return std::exchange(step_error_, {});
  return ok();
}

}  // namespace relay::runtime
