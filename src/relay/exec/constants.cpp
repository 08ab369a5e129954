#include "relay/exec/constants.h"

#include <chrono>
#include <cstring>

#include "relay/scalar/simplify.h"
#include "relay/tensor/memory.h"

namespace relay::exec {

namespace {

// A copy aligned to 64 bytes, as kernels may expect.
Tensor aligned(const Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % 64 == 0) return t;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

}  // namespace

SegmentConstants::SegmentConstants(const lower::LoweredFunction& lowered, const Liveness& liveness,
                                   const BuildOptions& options, Parts& parts)
    : lowered_(lowered), liveness_(liveness), options_(options), parts_(parts), prepared_(lowered.steps.size()) {
  if (!options.all_on) find_prepared();  // otherwise the host has no code when the program is linked
}

const Tensor& SegmentConstants::stored(int index) {
  Tensor& t = stored_[index];
  if (t || is_computed(index)) return t;
  const lower::Array& a = array(index);
  RELAY_CHECK(a.value, "constant {} has no value", a.name);
  t = lower::pack(a.value, a.layout);
  if (t.data() != a.value.data()) drop_pages(a.value.data(), a.value.bytes());
  return t;
}

std::optional<uint32_t> SegmentConstants::prepared(int array) const {
  const auto found = numbers_.find(array);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

// Bytes of an array of known size as stored; 0 if its size is unknown.
int64_t SegmentConstants::stored_bytes(int index) const {
  const lower::Array& a = array(index);
  return scalar::is_int(a.bytes) ? a.bytes->ivalue : 0;
}

// Finds steps on constants whose result is larger than the constants that would have to be stored to run them when
// the program is linked.
void SegmentConstants::find_prepared() {
  constexpr int64_t least = 64 << 10;  // a file's size does not matter below this
  std::map<int, int> writers;
  std::map<int, bool> kept;  // arrays that are stored anyway
  for (int output : liveness_.outputs) kept[liveness_.holder[static_cast<size_t>(output)]] = true;
  for (size_t s = 0; s < lowered_.steps.size(); ++s) {
    if (!liveness_.live[s]) continue;
    for (int w : lowered_.steps[s].writes) ++writers[w];
    if (!lowered_.steps[s].constant)
      for (int r : lowered_.steps[s].reads) kept[r] = true;
  }
  std::map<int, size_t> makers;  // steps that write prepared arrays
  for (size_t s = 0; s < lowered_.steps.size(); ++s) {
    const lower::Step& step = lowered_.steps[s];
    if (!liveness_.live[s] || !step.constant || step.writes.size() != 1) continue;
    const int result = step.writes[0];
    const lower::Layout& layout = array(result).layout;
    bool can = writers[result] == 1 && !liveness_.holds_result(result) && !layout.has_halo() && layout.row_padding == 0;
    int64_t needed = 0, read = 0;
    for (int r : std::set<int>(step.reads.begin(), step.reads.end())) {
      can = can && r != result;
      read += stored_bytes(r);
      needed += kept.count(r) || makers.count(r) ? 0 : stored_bytes(r);
    }
    const int64_t bytes = stored_bytes(result);
    if (!can || bytes < least || bytes <= needed ||
        !runtime::Preparation::is_within_ratio(static_cast<double>(bytes), static_cast<double>(read)))
      continue;
    prepared_[s] = true, makers[result] = s;
    for (int r : step.reads) kept[r] = true;
  }
  // A step that runs when the program is built needs inputs that exist then; the last steps come first.
  for (size_t s = lowered_.steps.size(); s-- > 0;)
    if (liveness_.live[s] && lowered_.steps[s].constant && !prepared_[s])
      for (int r : lowered_.steps[s].reads)
        if (auto maker = makers.find(r); maker != makers.end()) prepared_[maker->second] = false;
  if (!may_prepare()) prepared_.assign(prepared_.size(), false);
}

// True if all preparations of the program so far and these stay below its limit (Preparation::may_make). Their inputs
// count once, and only if no other constant can be identical (Parts::constant).
bool SegmentConstants::may_prepare() {
  int64_t made = parts_.bytes_prepared, stored = parts_.bytes_prepared_of;
  std::set<int> reads, results;
  for (size_t s = 0; s < prepared_.size(); ++s) {
    if (!prepared_[s]) continue;
    const lower::Step& step = lowered_.steps[s];
    made += stored_bytes(step.writes[0]);
    results.insert(step.writes[0]);
    reads.insert(step.reads.begin(), step.reads.end());
  }
  std::set<const void*> fresh;
  for (int r : reads) {
    const Tensor& value = array(r).value;
    if (results.count(r) || stored_bytes(r) <= static_cast<int64_t>(Parts::small_bytes)) continue;
    if (value && (parts_.prepared_of.count(value.data()) || !fresh.insert(value.data()).second)) continue;
    stored += stored_bytes(r);
  }
  if (!runtime::Preparation::is_within_ratio(static_cast<double>(made), static_cast<double>(stored))) return false;
  parts_.bytes_prepared = made, parts_.bytes_prepared_of = stored;
  parts_.prepared_of.merge(fresh);
  return true;
}

Shape SegmentConstants::physical_shape(const lower::Array& a) const {
  Shape shape;
  for (const scalar::Expr& e : a.layout.physical_shape(a.shape)) {
    scalar::Expr extent = scalar::simplify(e);
    RELAY_CHECK(scalar::is_int(extent), "a step on constants computes {} with a symbolic size", a.name);
    shape.push_back(extent->ivalue);
  }
  return shape;
}

std::vector<int64_t> SegmentConstants::sizes(const lower::Step& step) const {
  std::vector<int64_t> values;
  for (const scalar::Expr& e : step.sizes) {
    scalar::Expr value = scalar::simplify(e);
    RELAY_CHECK(scalar::is_int(value), "a step on constants has the symbolic size {}", scalar::str(e));
    values.push_back(value->ivalue);
  }
  return values;
}

int64_t SegmentConstants::tasks(const lower::Step& step) const {
  const scalar::Expr count = scalar::simplify(step.tasks);
  RELAY_CHECK(scalar::is_int(count), "a step on constants has {} tasks", scalar::str(count));
  return count->ivalue;
}

void SegmentConstants::add_preparations() {
  for (size_t s = 0; s < lowered_.steps.size(); ++s)
    if (prepared_[s]) add_preparation(lowered_.steps[s]);
}

void SegmentConstants::add_preparation(const lower::Step& step) {
  runtime::Preparation p;
  p.kernel = parts_.kernel(lowered_.kernels[step.kernel]);
  p.sizes = sizes(step), p.tasks = tasks(step);
  for (int arg : step.args) {
    if (arg == step.writes[0]) {
      p.result = static_cast<uint32_t>(p.args.size());
      stored_[arg] = Tensor::view(nullptr, physical_shape(array(arg)), array(arg).dtype, nullptr);
      computed_.insert(arg);
      p.args.push_back(numbers_[arg] = parts_.prepared_constant(stored_[arg]));
    } else {
      const std::optional<uint32_t> made = prepared(arg);
      p.args.push_back(made ? *made : parts_.constant(stored(arg)));
    }
  }
  parts_.program.preparations.push_back(std::move(p));
}

Status SegmentConstants::run_steps() {
  std::vector<size_t> work;
  std::vector<uint32_t> kernels;
  for (size_t s = 0; s < lowered_.steps.size(); ++s)
    if (liveness_.live[s] && lowered_.steps[s].constant && !prepared_[s])
      work.push_back(s), kernels.push_back(lowered_.steps[s].kernel);
  if (work.empty()) return ok();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  std::vector<loop::Kernel> loops;
  for (uint32_t k : kernels) loops.push_back(lowered_.kernels[k]);
  RELAY_ASSIGN(std::shared_ptr<codegen::KernelLibrary> library, host_backend(options_)->compile(loops, nullptr));
  // Inputs without later readers among constant steps are dropped immediately: transformed weights are large.
  std::map<int, size_t> last_read;
  for (size_t s = 0; s < lowered_.steps.size(); ++s)
    if (liveness_.live[s])
      for (int r : lowered_.steps[s].reads) last_read[r] = s;
  // Constants that a run reads, wherever its step is among these, and those read when the program is linked.
  for (size_t s = 0; s < lowered_.steps.size(); ++s)
    if (liveness_.live[s] && (!lowered_.steps[s].constant || prepared_[s]))
      for (int r : lowered_.steps[s].reads) last_read[r] = lowered_.steps.size();
  for (int output : liveness_.outputs) last_read[liveness_.holder[static_cast<size_t>(output)]] = lowered_.steps.size();
  runtime::ThreadPool::Session session(runtime::ThreadPool::global(), options_.threads);
  for (size_t s : work) {
    RELAY_RETURN_IF_ERROR(run_step(lowered_.steps[s], *library, session));
    for (int r : lowered_.steps[s].reads)
      if (last_read[r] == s) {
        const Tensor& value = array(r).value;
        if (value) drop_pages(value.data(), value.bytes());
        stored_.erase(r);
      }
    ++parts_.constant_steps;
  }
  parts_.constant_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return ok();
}

Status SegmentConstants::run_step(const lower::Step& step, const codegen::KernelLibrary& library,
                                  runtime::ThreadPool::Session& session) {
  const loop::Kernel& kernel = lowered_.kernels[step.kernel];
  codegen::KernelFn fn = library.find(kernel.name);
  RELAY_CHECK(fn, "kernel {} was not compiled", kernel.name);
  std::vector<void*> params;
  for (int arg : step.args) {
    const lower::Array& a = array(arg);
    if (a.kind == lower::Array::Kind::Constant) {
      stored_[arg] = aligned(stored(arg));
      params.push_back(const_cast<void*>(stored_[arg].data()));
      continue;
    }
    RELAY_CHECK(a.kind == lower::Array::Kind::Temporary,
                "a step on constants uses {}, which is neither constant nor temporary", a.name);
    Tensor& t = stored_[arg];
    if (!t) {
      Shape shape = physical_shape(a);
      // Without a halo the step writes every element.
      t = a.layout.is_row_major() ? Tensor::empty(shape, a.dtype) : Tensor::full(shape, a.dtype, a.layout.halo_value);
    }
    params.push_back(t.mutable_data());
    computed_.insert(arg);
  }
  const std::vector<int64_t> values = sizes(step);
  std::atomic<bool> failed = false;
  const runtime::FloatScope scope(runtime::kernel_control(options_.keeps_subnormals));
  runtime::call_kernel(session, fn, params.data(), values.data(), tasks(step), codegen::scratch_bytes(kernel), {},
                       failed);
  if (failed) return runtime::out_of_scratch();
  return ok();
}

}  // namespace relay::exec
