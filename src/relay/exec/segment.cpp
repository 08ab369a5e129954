#include "relay/exec/segment.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "relay/exec/sizes.h"
#include "relay/ir/main_function.h"
#include "relay/ir/type.h"
#include "relay/lower/plan/views.h"
#include "relay/runtime/program/program_builder.h"
#include "relay/scalar/simplify.h"
#include "relay/tensor/memory.h"

namespace relay::exec {

namespace {

using lower::LoweredFunction;
using lower::Step;
using runtime::SegmentBuilder;
using runtime::SizeExpr;
using runtime::ThreadPool;
using scalar::Expr;
using scalar::Exprs;
using Kind = lower::Array::Kind;
using Clock = std::chrono::steady_clock;

Diagnostic not_supported(std::string message) {
  return {DiagnosticKind::not_supported,
          std::move(message),
          {},
          {},
          {},
          "run the passes in the default order, or use the debug executor (--executor debug)"};
}

// A copy aligned to 64 bytes, as kernels may expect.
Tensor aligned(const Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % 64 == 0) return t;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

class SegmentWriter {
 public:
  SegmentWriter(const LoweredFunction& lowered, const BuildOptions& options, Parts& parts)
      : lowered_(lowered),
        options_(options),
        parts_(parts),
        size_(lowered.shape_vars),
        builder_(lowered.name.empty() ? ir::main_function : lowered.name) {}

  Result<runtime::Segment> run() {
    resolve_aliases();
    find_live();
    find_prepared();
    RELAY_RETURN_IF_ERROR(run_constant_steps());
    for (const Expr& v : lowered_.shape_vars) builder_.variable(v->name);
    RELAY_RETURN_IF_ERROR(inputs());
    RELAY_RETURN_IF_ERROR(bindings());
    for (const op::Condition& c : lowered_.conditions)
      if (std::optional<runtime::Check> check = size_.check(c)) builder_.check(check->condition, check->message);
    RELAY_RETURN_IF_ERROR(outputs());
    parts_.lowered_steps.emplace_back();
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      if (prepared_[s]) preparation(lowered_.steps[s]);
    RELAY_RETURN_IF_ERROR(steps());
    for (const std::pair<uint32_t, uint32_t>& c : copies_) builder_.copy(c.first, c.second);
    return builder_.finish();
  }

 private:
  // --- liveness ---

  // The array that holds an output's value, through any number of aliases.
  void resolve_aliases() {
    holder_.resize(lowered_.arrays.size());
    for (size_t i = 0; i < holder_.size(); ++i) {
      int at = static_cast<int>(i);
      for (size_t hops = 0; lowered_.arrays[at].alias >= 0; ++hops) {
        RELAY_CHECK(hops <= holder_.size(), "array {} is its own alias", i);
        at = lowered_.arrays[at].alias;
      }
      holder_[i] = at;
    }
    for (size_t i = 0; i < lowered_.arrays.size(); ++i) {
      const lower::Array& a = lowered_.arrays[i];
      if (a.kind != Kind::Output) continue;
      RELAY_CHECK(a.index >= 0, "output {} has no index", a.name);
      if (static_cast<size_t>(a.index) >= outputs_.size()) outputs_.resize(static_cast<size_t>(a.index) + 1, -1);
      outputs_[static_cast<size_t>(a.index)] = static_cast<int>(i);
    }
  }

  // A check is live, and so is a step if a later live step or the result reads its outputs.
  void find_live() {
    std::vector<bool> needed(lowered_.arrays.size());
    for (int output : outputs_)
      if (output >= 0)
        needed[static_cast<size_t>(output)] = needed[static_cast<size_t>(holder_[static_cast<size_t>(output)])] = true;
    live_.resize(lowered_.steps.size());
    for (size_t s = lowered_.steps.size(); s-- > 0;) {
      const Step& step = lowered_.steps[s];
      live_[s] =
          std::any_of(step.writes.begin(), step.writes.end(), [&](int w) { return needed[static_cast<size_t>(w)]; });
      live_[s] = live_[s] || step.check;
      if (live_[s])
        for (int r : step.reads) needed[static_cast<size_t>(r)] = true;
      if (live_[s] && step.when >= 0) needed[static_cast<size_t>(step.when)] = true;
    }
  }

  // --- constants ---

  const Tensor& stored(int array) {
    Tensor& t = stored_[array];
    if (!t) {
      const lower::Array& a = lowered_.arrays[static_cast<size_t>(array)];
      RELAY_CHECK(a.value, "constant {} has no value", a.name);
      t = lower::pack(a.value, a.layout);
      if (t.data() != a.value.data()) drop_pages(a.value.data(), a.value.bytes());
    }
    return t;
  }

  // Bytes of an array of known size as stored; 0 if its size is unknown.
  int64_t stored_bytes(int array) const {
    const lower::Array& a = lowered_.arrays[static_cast<size_t>(array)];
    int64_t bytes = a.dtype.bytes();
    for (const Expr& e : a.layout.physical_shape(a.shape)) {
      const Expr extent = scalar::simplify(e);
      if (!scalar::is_int(extent)) return 0;
      bytes *= extent->ivalue;
    }
    return bytes;
  }

  // Finds steps on constants whose result is larger than the constants that would have to be stored to run them when
  // the program is linked.
  void find_prepared() {
    constexpr int64_t least = 64 << 10;  // a file's size does not matter below this
    prepared_.resize(lowered_.steps.size());
    if (options_.all_on) return;  // the host has no code when the program is linked
    std::map<int, int> writers;
    std::map<int, bool> kept;  // arrays that are stored anyway
    for (int output : outputs_)
      if (output >= 0) kept[holder_[static_cast<size_t>(output)]] = true;
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      if (!live_[s]) continue;
      for (int w : lowered_.steps[s].writes) ++writers[w];
      if (!lowered_.steps[s].constant)
        for (int r : lowered_.steps[s].reads) kept[r] = true;
    }
    std::map<int, size_t> makers;  // steps that write prepared arrays
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      if (!live_[s] || !step.constant || step.writes.size() != 1) continue;
      const int result = step.writes[0];
      const lower::Layout& layout = lowered_.arrays[static_cast<size_t>(result)].layout;
      bool can = writers[result] == 1 && !kept_as_result(result) && !layout.has_halo() && layout.row_padding == 0;
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
      if (live_[s] && lowered_.steps[s].constant && !prepared_[s])
        for (int r : lowered_.steps[s].reads)
          if (auto maker = makers.find(r); maker != makers.end()) prepared_[maker->second] = false;
    if (!may_prepare()) prepared_.assign(prepared_.size(), false);
  }

  // True if all preparations of the program so far and these stay below its limit (Preparation::may_make). Their inputs
  // count once, and only if no other constant can be identical (Parts::constant).
  bool may_prepare() {
    int64_t made = parts_.bytes_prepared, stored = parts_.bytes_prepared_of;
    std::set<int> reads, results;
    for (size_t s = 0; s < prepared_.size(); ++s) {
      if (!prepared_[s]) continue;
      const Step& step = lowered_.steps[s];
      made += stored_bytes(step.writes[0]);
      results.insert(step.writes[0]);
      reads.insert(step.reads.begin(), step.reads.end());
    }
    std::set<const void*> fresh;
    for (int r : reads) {
      const Tensor& value = lowered_.arrays[static_cast<size_t>(r)].value;
      if (results.count(r) || stored_bytes(r) <= static_cast<int64_t>(Parts::small_bytes)) continue;
      if (value && (parts_.prepared_of.count(value.data()) || !fresh.insert(value.data()).second)) continue;
      stored += stored_bytes(r);
    }
    if (!runtime::Preparation::is_within_ratio(static_cast<double>(made), static_cast<double>(stored))) return false;
    parts_.bytes_prepared = made, parts_.bytes_prepared_of = stored;
    parts_.prepared_of.merge(fresh);
    return true;
  }

  bool kept_as_result(int array) const {
    return std::any_of(outputs_.begin(), outputs_.end(),
                       [&](int o) { return o >= 0 && holder_[static_cast<size_t>(o)] == array; });
  }

  Shape physical_shape(const lower::Array& a) const {
    Shape shape;
    for (const Expr& e : a.layout.physical_shape(a.shape)) {
      Expr extent = scalar::simplify(e);
      RELAY_CHECK(scalar::is_int(extent), "a step on constants computes {} with a symbolic size", a.name);
      shape.push_back(extent->ivalue);
    }
    return shape;
  }

  std::vector<int64_t> known_sizes(const Step& step) const {
    std::vector<int64_t> sizes;
    for (const Expr& e : step.shape_values) {
      Expr value = scalar::simplify(e);
      RELAY_CHECK(scalar::is_int(value), "a step on constants has the symbolic size {}", scalar::str(e));
      sizes.push_back(value->ivalue);
    }
    return sizes;
  }

  int64_t known_tasks(const Step& step) const {
    Expr tasks = scalar::simplify(task_count(step));
    RELAY_CHECK(scalar::is_int(tasks), "a step on constants has {} tasks", scalar::str(tasks));
    return tasks->ivalue;
  }

  void preparation(const Step& step) {
    runtime::Preparation p;
    p.kernel = parts_.kernel(lowered_.kernels[static_cast<size_t>(step.kernel)]);
    p.sizes = known_sizes(step), p.tasks = known_tasks(step);
    for (int arg : step.args) {
      const lower::Array& a = lowered_.arrays[static_cast<size_t>(arg)];
      if (arg == step.writes[0]) {
        p.result = static_cast<uint32_t>(p.args.size());
        stored_[arg] = Tensor::view(nullptr, physical_shape(a), a.dtype, nullptr);
        computed_[arg] = true;
        p.args.push_back(numbers_[arg] = parts_.prepared_constant(stored_[arg]));
      } else {
        const auto prepared = numbers_.find(arg);
        p.args.push_back(prepared != numbers_.end()
                             ? prepared->second
                             : parts_.constant(a.kind == Kind::Constant ? stored(arg) : stored_.at(arg)));
      }
    }
    parts_.program.preparations.push_back(std::move(p));
  }

  Status run_constant_steps() {
    std::vector<size_t> work;
    std::vector<int> kernels;
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      if (live_[s] && lowered_.steps[s].constant && !prepared_[s])
        work.push_back(s), kernels.push_back(lowered_.steps[s].kernel);
    if (work.empty()) return ok();
    Clock::time_point start = Clock::now();
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    std::vector<loop::Kernel> loops;
    for (int k : kernels) loops.push_back(lowered_.kernels[static_cast<size_t>(k)]);
    RELAY_ASSIGN(std::shared_ptr<codegen::KernelLibrary> library, host_backend(options_)->compile(loops, nullptr));
    // Inputs without later readers among constant steps are dropped immediately: transformed weights are large.
    std::map<int, size_t> last_read;
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      if (live_[s])
        for (int r : lowered_.steps[s].reads) last_read[r] = s;
    // Constants that a run reads, wherever its step is among these, and those read when the program is linked.
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      if (live_[s] && (!lowered_.steps[s].constant || prepared_[s]))
        for (int r : lowered_.steps[s].reads) last_read[r] = lowered_.steps.size();
    for (int output : outputs_)
      if (output >= 0) last_read[holder_[static_cast<size_t>(output)]] = lowered_.steps.size();
    ThreadPool::Session session(ThreadPool::global(), options_.threads);
    for (size_t s : work) {
      RELAY_RETURN_IF_ERROR(run_constant_step(lowered_.steps[s], *library, session));
      for (int r : lowered_.steps[s].reads)
        if (last_read[r] == s) {
          const Tensor& given = lowered_.arrays[static_cast<size_t>(r)].value;
          if (given) drop_pages(given.data(), given.bytes());
          stored_.erase(r);
        }
      ++parts_.constant_steps;
    }
    parts_.constant_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return ok();
  }

  Status run_constant_step(const Step& step, const codegen::KernelLibrary& library, ThreadPool::Session& session) {
    const loop::Kernel& kernel = lowered_.kernels[static_cast<size_t>(step.kernel)];
    codegen::KernelFn fn = library.find(kernel.name);
    RELAY_CHECK(fn, "kernel {} was not compiled", kernel.name);
    std::vector<void*> params;
    for (int arg : step.args) {
      const lower::Array& a = lowered_.arrays[static_cast<size_t>(arg)];
      if (a.kind == Kind::Constant) {
        stored_[arg] = aligned(stored(arg));
        params.push_back(const_cast<void*>(stored_[arg].data()));
        continue;
      }
      RELAY_CHECK(a.kind == Kind::Temporary, "a step on constants uses {}, which is neither constant nor temporary",
                  a.name);
      Tensor& t = stored_[arg];
      if (!t) {
        Shape shape = physical_shape(a);
        // Without a halo the step writes every element.
        t = a.layout.is_row_major() ? Tensor::empty(shape, a.dtype) : Tensor::full(shape, a.dtype, a.layout.halo_value);
      }
      params.push_back(t.mutable_data());
      computed_[arg] = true;
    }
    const std::vector<int64_t> sizes = known_sizes(step);
    std::atomic<bool> failed = false;
    runtime::call_kernel(session, fn, params.data(), sizes.data(), known_tasks(step), codegen::scratch_bytes(kernel),
                         {}, failed);
    if (failed) return runtime::out_of_scratch();
    return ok();
  }

  // --- inputs, outputs ---

  Result<std::vector<SizeExpr>> sizes(const Exprs& shape) {
    std::vector<SizeExpr> out;
    for (const Expr& e : shape) {
      RELAY_ASSIGN(SizeExpr size, size_(e));
      out.push_back(std::move(size));
    }
    return out;
  }

  static runtime::MemorySpace memory(const lower::Array& a) { return static_cast<runtime::MemorySpace>(a.device); }
  static runtime::Rows rows(const lower::Array& a) {
    switch (a.rows) {
      case lower::Rows::None: break;
      case lower::Rows::First: return runtime::Rows::First;
      case lower::Rows::Added: return runtime::Rows::Added;
    }
    return runtime::Rows::None;
  }

  // Every parameter is an input, read or not.
  Status inputs() {
    input_shapes_.resize(lowered_.input_types.size());
    std::vector<int> array_of(lowered_.input_types.size(), -1);
    for (size_t i = 0; i < lowered_.arrays.size(); ++i) {
      const lower::Array& a = lowered_.arrays[i];
      if (a.kind != Kind::Input) continue;
      RELAY_CHECK(a.index >= 0 && static_cast<size_t>(a.index) < array_of.size(), "input {} is not a parameter",
                  a.name);
      array_of[static_cast<size_t>(a.index)] = static_cast<int>(i);
    }
    for (size_t i = 0; i < array_of.size(); ++i) {
      std::string name = i < lowered_.input_names.size() ? lowered_.input_names[i] : format("input{}", i);
      const ir::TensorType* type = ir::as<ir::TensorType>(lowered_.input_types[i]);
      const lower::Array* a = array_of[i] >= 0 ? &lowered_.arrays[static_cast<size_t>(array_of[i])] : nullptr;
      if (!a && !type) return not_supported(format("parameter `{}` of the compiled function is not a tensor", name));
      input_shapes_[i] = a ? a->shape : type->shape;
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(input_shapes_[i]));
      uint32_t made = builder_.input(name, a ? a->dtype : type->dtype, std::move(shape));
      if (a) id_[array_of[i]] = made, builder_.set_rows(made, rows(*a)), builder_.set_memory(made, memory(*a));
    }
    return ok();
  }

  Status bindings() {
    for (uint32_t v = 0; v < lowered_.shape_vars.size(); ++v) {
      const Expr& var = lowered_.shape_vars[v];
      std::optional<runtime::VariableBinding> b = find_binding(var, input_shapes_);
      if (!b) {
        Diagnostic d =
            not_supported(format("the shape variable `{}` cannot be derived from the shapes of the inputs", var->name));
        d.help = format("give an input a dimension that is `{}` itself", var->name);
        return d;
      }
      builder_.bind(v, b->input, b->dim, b->factor, b->offset);
    }
    return ok();
  }

  Status outputs() {
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      RELAY_CHECK(outputs_[i] >= 0, "result {} of the function is not an array", i);
      int output = outputs_[i], holder = holder_[static_cast<size_t>(output)];
      const lower::Array &a = lowered_.arrays[static_cast<size_t>(output)],
                         &h = lowered_.arrays[static_cast<size_t>(holder)];
      names.push_back(a.name.empty() ? format("output{}", i) : a.name);
      bool same_shape = a.shape.size() == h.shape.size();
      for (size_t d = 0; d < a.shape.size() && same_shape; ++d)
        same_shape = scalar::prove_equal(a.shape[d], h.shape[d]).value_or(false);
      bool made_here = h.kind == Kind::Constant || computed_.count(holder) > 0;
      bool returned =
          same_shape && (h.kind == Kind::Output || h.kind == Kind::Input || (made_here && h.layout.is_row_major()));
      if (returned && holder != output) {
        RELAY_ASSIGN(uint32_t made, array(holder));
        builder_.result(made);
        continue;
      }
      if (h.kind == Kind::Constant && !h.layout.is_row_major()) {
        stored_[holder] = h.value;
        uint32_t index = constant(h, stored_[holder]);
        builder_.result(index);
        continue;
      }
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(a.shape));
      uint32_t made = builder_.output(names.back(), a.dtype, std::move(shape));
      id_[output] = made;
      builder_.set_rows(made, rows(a)), builder_.set_memory(made, memory(a));
      if (a.in_place)
        builder_.in_place(made, static_cast<uint32_t>(lowered_.arrays[static_cast<size_t>(a.in_place->input)].index),
                          a.in_place->updates);
      if (holder == output) continue;
      RELAY_CHECK(h.layout.is_row_major(), "output {} is {}, whose storage is not row-major", a.name, h.name);
      RELAY_ASSIGN(uint32_t from, array(holder));
      copies_.emplace_back(from, made);
    }
    builder_.name_results(std::move(names));
    return ok();
  }

  // --- arrays and steps ---

  uint32_t constant(const lower::Array& a, const Tensor& value) {
    const uint32_t made = builder_.constant(a.name, parts_.constant(value), value);
    builder_.set_memory(made, memory(a));
    return made;
  }

  // The array in the host's memory: itself, or a temporary to which a step copies it.
  Result<uint32_t> array_on_host(int index) {
    RELAY_ASSIGN(const uint32_t made, array(index));
    if (builder_.memory(made) == runtime::host_memory) return made;
    if (const auto known = on_host_.find(index); known != on_host_.end()) return known->second;
    const uint32_t copy = builder_.temporary_like(made, runtime::host_memory);
    builder_.copy(made, copy);
    parts_.lowered_steps.back().push_back(-1);
    return on_host_[index] = copy;
  }

  // The program's array, created at its first use.
  Result<uint32_t> array(int index) {
    if (std::map<int, uint32_t>::iterator it = id_.find(index); it != id_.end()) return it->second;
    const lower::Array& a = lowered_.arrays[static_cast<size_t>(index)];
    RELAY_CHECK(a.kind == Kind::Constant || a.kind == Kind::Temporary, "array {} is used before it is declared",
                a.name);
    uint32_t made = 0;
    if (a.view) {
      RELAY_ASSIGN(uint32_t whole, array(lower::stored_in(lowered_.arrays, index)));
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(a.shape));
      RELAY_ASSIGN(SizeExpr begin, size_(lower::offset_of_view(lowered_.arrays, index)));
      made = builder_.view(a.name, a.dtype, std::move(shape), whole, std::move(begin));
    } else if (std::map<int, uint32_t>::iterator it = numbers_.find(index); it != numbers_.end()) {
      made = builder_.constant(a.name, it->second, stored_.at(index));
      builder_.set_memory(made, memory(a));
    } else if (a.kind == Kind::Constant || computed_.count(index)) {
      made = constant(a, a.kind == Kind::Constant ? stored(index) : stored_.at(index));
    } else {
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(a.shape));
      made = builder_.temporary(a.name, a.dtype, std::move(shape));
      builder_.set_memory(made, memory(a));
      Expr bytes = scalar::imm(a.dtype.bytes());
      for (const Expr& e : a.layout.physical_shape(a.shape)) bytes = bytes * e;
      RELAY_ASSIGN(SizeExpr stored_bytes, size_(bytes));
      builder_.set_bytes(made, std::move(stored_bytes));
    }
    id_[index] = made;
    return made;
  }

  Expr task_count(const Step& step) const {
    const loop::Kernel& kernel = lowered_.kernels[static_cast<size_t>(step.kernel)];
    RELAY_CHECK(kernel.shape_vars.size() == step.shape_values.size(), "kernel {} takes {} sizes, and {} are given",
                kernel.name, kernel.shape_vars.size(), step.shape_values.size());
    std::vector<scalar::Binding> values;
    for (size_t i = 0; i < kernel.shape_vars.size(); ++i)
      values.push_back({kernel.shape_vars[i], step.shape_values[i]});
    return scalar::substitute(kernel.tasks, values);
  }

  Status check_indices(const Step& step) {
    RELAY_ASSIGN(uint32_t indices, array_on_host(step.args[0]));
    RELAY_ASSIGN(std::vector<SizeExpr> extents, sizes(step.check->extents));
    const runtime::Rows of_calls = rows(lowered_.arrays[static_cast<size_t>(step.args[0])]);
    builder_.check_indices({step.check->op, place_text(step.check->span), step.check->axes, of_calls}, indices,
                           extents);
    return ok();
  }

  Status steps() {
    std::optional<lower::StepRepeat> repeat;
    uint32_t repeated = 0;  // number of its steps
    auto end_repeat = [&]() -> Status {
      if (!repeat) return ok();
      RELAY_ASSIGN(SizeExpr times, size_(repeat->times));
      builder_.repeat_last(std::exchange(repeated, 0), std::move(times));
      repeat.reset();
      return ok();
    };
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      if (!live_[s] || step.constant) continue;
      if (repeat && (!step.repeat || step.repeat->number != repeat->number)) RELAY_RETURN_IF_ERROR(end_repeat());
      if (step.repeat) repeat = step.repeat, ++repeated;
      if (step.check) {
        RELAY_RETURN_IF_ERROR(check_indices(step));
        parts_.lowered_steps.back().push_back(static_cast<int>(s));
        continue;
      }
      std::vector<uint32_t> args;
      for (int arg : step.args) {
        RELAY_ASSIGN(uint32_t id, array(arg));
        args.push_back(id);
      }
      if (step.transfer) {
        builder_.copy(args[0], args[1]);
        parts_.lowered_steps.back().push_back(static_cast<int>(s));
        continue;
      }
      if (step.external) {
        const uint32_t outputs = static_cast<uint32_t>(step.writes.size());
        builder_.external(parts_.external(*step.external, static_cast<uint32_t>(args.size()) - outputs, outputs), args);
        parts_.lowered_steps.back().push_back(static_cast<int>(s));
        continue;
      }
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(step.shape_values));
      RELAY_ASSIGN(SizeExpr tasks, size_(task_count(step)));
      std::optional<uint32_t> when;
      if (step.when >= 0) {
        RELAY_ASSIGN(when, array_on_host(step.when));
      }
      builder_.kernel(parts_.kernel(lowered_.kernels[static_cast<size_t>(step.kernel)]), args, shape, std::move(tasks),
                      when);
      parts_.lowered_steps.back().push_back(static_cast<int>(s));
    }
    return end_repeat();
  }

  const LoweredFunction& lowered_;
  const BuildOptions& options_;
  Parts& parts_;
  SizeTranslator size_;
  SegmentBuilder builder_;
  std::vector<int> holder_, outputs_;  // of each array; by result
  std::vector<bool> live_, prepared_;  // of each step
  std::map<int, Tensor> stored_;       // constants as stored, and temporaries that steps on constants wrote
  std::map<int, bool> computed_;
  std::map<int, uint32_t> numbers_;  // of the program's constants that preparations make
  std::vector<Exprs> input_shapes_;
  std::map<int, uint32_t> id_;
  std::map<int, uint32_t> on_host_;  // copies of arrays on devices, for the steps of the host
  std::vector<std::pair<uint32_t, uint32_t>> copies_;
};

}  // namespace

Result<runtime::Segment> write_segment(const LoweredFunction& lowered, const BuildOptions& options, Parts& parts) {
  return SegmentWriter(lowered, options, parts).run();
}

}  // namespace relay::exec
