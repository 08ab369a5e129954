#include "relay/runtime/segment_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "relay/tensor/index_check.h"

namespace relay::runtime {

using Clock = std::chrono::steady_clock;
static double us(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

Diagnostic out_of_scratch() {
  return {DiagnosticKind::out_of_memory,      "no memory for a kernel's scratch buffers", {}, {}, {},
          "free memory, or use fewer threads"};
}

SegmentRunner::SegmentRunner(const LinkedProgram& linked, const Segment& f, const Plan& plan)
    : linked_(linked), plan_(plan), segment_(static_cast<uint32_t>(&f - linked.program->segments.data())) {
  const Program& program = *linked.program;
  size_t slots = 0;
  for (const Step& in : f.steps) slots += in.args.count;
  params_.resize(slots);  // never grows: calls point into it
  std::vector<uint32_t> output_of(f.arrays.size(), 0);
  for (size_t i = f.outputs.size(); i-- > 0;)
    output_of[f.outputs[i]] = static_cast<uint32_t>(i);  // the first, if returned twice
  for (uint32_t i = 0; i < f.arrays.size(); ++i)
    if (const std::optional<InPlace>& in = f.arrays[i].in_place; in && in->updates)
      updates_.push_back({output_of[i], in->input, plan.bytes[i]});
  uint32_t slot = 0;
  for (const Step& in : f.steps) {
    Call c{};
    c.step = static_cast<uint32_t>(&in - f.steps.data());
    c.params = params_.data() + slot;
    for (uint32_t i = 0; i < in.args.count; ++i, ++slot) {
      uint32_t array = f.operands[in.args.begin + i];
      const Array& a = f.arrays[array];
      const uint32_t* args = f.operands.data() + in.args.begin;
      if (std::find(args, args + i, array) == args + i) c.bytes += plan.bytes[array];
      switch (a.kind) {
        case Array::Kind::Input: input_slots_.push_back({slot, a.index}); break;
        case Array::Kind::Output: output_slots_.push_back({slot, output_of[array]}); break;
        case Array::Kind::Constant: params_[slot] = const_cast<void*>(program.constants[a.index].data()); break;
        case Array::Kind::View:
          if (f.arrays[a.index].kind == Array::Kind::Output) {
            output_slots_.push_back({slot, output_of[a.index], plan.offsets[array]});
            break;
          }
          [[fallthrough]];
        case Array::Kind::Temporary: arena_slots_.push_back({slot, plan.offsets[array]}); break;
      }
    }
    if (in.kind == Step::Kind::CheckIndices) {
      c.check = &f.index_checks[in.kernel];
      c.shape = plan.sizes.data() + in.sizes.begin, c.sizes = in.sizes.count;
      c.tasks = element_count(plan.shapes[f.operands[in.args.begin]]).value_or(0);
    } else if (in.kind != Step::Kind::Copy) {
      if (in.kind == Step::Kind::KernelWhen) {
        c.when = c.params + in.args.count - 1;
        c.when_bytes = plan.bytes[f.operands[in.args.begin + in.args.count - 1]];
      }
      c.kernel = linked.kernels[in.kernel];
      c.kernel_index = in.kernel;
      c.shape = plan.sizes.data() + in.sizes.begin, c.sizes = in.sizes.count;
      c.tasks = plan.sizes[in.tasks];
      c.scratch_bytes = program.kernels[in.kernel].scratch_bytes;
    } else {
      c.tasks = plan.bytes[f.operands[in.args.begin]];
    }
    if (c.tasks > 0) calls_.push_back(c);
  }
}

void SegmentRunner::bind(const RunState& state) {
  if (state.arena != arena_) {
    arena_ = state.arena;
    for (const ArenaSlot& s : arena_slots_) params_[s.slot] = arena_ + s.offset;
  }
  for (const OuterSlot& s : input_slots_) params_[s.slot] = state.inputs[s.index];
  for (const OuterSlot& s : output_slots_) params_[s.slot] = static_cast<std::byte*>(state.outputs[s.index]) + s.offset;
}

// What does not lie where its input does is copied from there.
void SegmentRunner::begin_updates(const RunState& state) {
  constexpr int64_t block = 1 << 18;  // of one task
  for (const Update& u : updates_) {
    std::byte* to = static_cast<std::byte*>(state.outputs[u.output]);
    const std::byte* from = static_cast<const std::byte*>(state.inputs[u.input]);
    if (to == from || u.bytes == 0) continue;
    auto range = [=](int64_t begin, int64_t end, int) {
      std::memcpy(to + begin * block, from + begin * block,
                  static_cast<size_t>(std::min(end * block, u.bytes) - begin * block));
    };
    if (state.report) state.report->copied_bytes += u.bytes;
    state.session.parallel((u.bytes + block - 1) / block, range, 0);
  }
}

inline bool SegmentRunner::call(const Call& c, ThreadPool::Session& session) {
  if (c.check != nullptr) return check(c, session);
  if (c.kernel == nullptr) {
    std::memcpy(c.params[1], c.params[0], static_cast<size_t>(c.tasks));
    return true;
  }
  if (c.when != nullptr) {
    const std::byte* flags = static_cast<const std::byte*>(*c.when);
    if (std::all_of(flags, flags + c.when_bytes, [](std::byte b) { return b == std::byte{0}; })) return false;
  }
  call_kernel(session, c.kernel, c.params, c.shape, c.tasks, c.scratch_bytes, c.threads, out_of_scratch_);
  return true;
}

// How many indices lie between those of one extent and those of the next.
static int64_t slice_of(const Shape& shape, const IndexCheck& check) {
  if (check.axes.size() == 1) return *element_count(shape);
  int64_t inner = 1;
  for (size_t d = check.rows == Rows::Added ? 2 : 1; d < shape.size(); ++d) inner *= shape[d];
  return inner;
}

bool SegmentRunner::check(const Call& c, ThreadPool::Session& session) {
  constexpr int64_t least = 1 << 16, block = 1 << 14;  // indices for which several threads pay, and those of a task
  const Segment& f = linked_.program->segments[segment_];
  const uint32_t array = f.operands[f.steps[c.step].args.begin];
  const std::span<const int64_t> extents(c.shape, c.sizes);
  const int64_t inner = slice_of(plan_.shapes[array], *c.check);
  const DType dtype = f.arrays[array].dtype;
  auto all_in_range = [&](int64_t begin, int64_t end) {
    const std::byte* from = static_cast<const std::byte*>(c.params[0]) + begin * dtype.bytes();
    return !first_out_of_range(from, dtype, end - begin, extents, inner);
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
  const int64_t place = *first_out_of_range(c.params[0], dtype, c.tasks, extents, inner);
  const size_t which = extent_of(place, extents.size(), inner);
  Shape at = coordinates(place, shape);
  // Of the call alone.
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
    std::string name = c.kernel ? linked_.program->kernels[c.kernel_index].name : c.check ? "check_indices" : "copy";
    state.report->steps.push_back({std::move(name),
                                   took,
                                   c.tasks,
                                   c.kernel ? threads : 1,
                                   us(start.time_since_epoch()),
                                   c.bytes,
                                   segment_,
                                   c.step,
                                   {c.shape, c.shape + c.sizes},
                                   arrays_of(c)});
  }
}

Status SegmentRunner::run(const RunState& state) {
  bind(state);
  begin_updates(state);
  if (!measuring_ && state.session.threads() > 1 && ++decided_runs_ == ThreadChoice::kept_runs) {
    for (Call& c : calls_) c.threads.measure_again();
    measuring_ = true, decided_runs_ = 0;
  }
  if ((measuring_ && state.session.threads() > 1) || (state.report && state.report->time_steps)) {
    run_measured(state);
  } else {
    int64_t ran = 0;
    for (const Call& c : calls_) {
      ran += call(c, state.session) && c.check == nullptr;
      if (failed_) break;
    }
    if (state.report) state.report->kernel_calls += ran;
  }
  const Call* failed = std::exchange(failed_, nullptr);
  if (out_of_scratch_.exchange(false, std::memory_order_relaxed)) return out_of_scratch();
  if (failed) return index_error(*failed);
  return ok();
}

}  // namespace relay::runtime
