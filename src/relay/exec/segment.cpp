#include "relay/exec/segment.h"

#include <map>

#include "relay/exec/constants.h"
#include "relay/exec/sizes.h"
#include "relay/ir/main_function.h"
#include "relay/runtime/program/program_builder.h"
#include "relay/scalar/simplify.h"

namespace relay::exec {

namespace {

using lower::LoweredFunction;
using lower::Step;
using runtime::SegmentBuilder;
using runtime::SizeExpr;
using scalar::Expr;
using scalar::Exprs;
using Kind = lower::Array::Kind;

Diagnostic not_supported(std::string message) {
  return {DiagnosticKind::not_supported,
          std::move(message),
          {},
          {},
          {},
          "run the passes in the default order, or use the debug executor (--executor debug)"};
}

class SegmentWriter {
 public:
  SegmentWriter(const LoweredFunction& lowered, const BuildOptions& options, Parts& parts)
      : lowered_(lowered),
        liveness_(find_live(lowered)),
        parts_(parts),
        constants_(lowered, liveness_, options, parts),
        size_(lowered.shape_vars),
        builder_(lowered.name.empty() ? ir::main_function : lowered.name) {}

  Result<runtime::Segment> run() {
    RELAY_RETURN_IF_ERROR(constants_.run_steps());
    for (const Expr& v : lowered_.shape_vars) builder_.variable(v->name);
    RELAY_RETURN_IF_ERROR(inputs());
    RELAY_RETURN_IF_ERROR(bindings());
    for (const op::Condition& c : lowered_.conditions)
      if (std::optional<runtime::Check> check = size_.check(c)) builder_.check(check->condition, check->message);
    RELAY_RETURN_IF_ERROR(outputs());
    parts_.lowered_steps.emplace_back();
    constants_.add_preparations();
    RELAY_RETURN_IF_ERROR(steps());
    for (const std::pair<uint32_t, uint32_t>& c : copies_) builder_.copy(c.first, c.second);
    return builder_.finish();
  }

 private:
  // --- inputs, outputs ---

  Result<std::vector<SizeExpr>> sizes(const Exprs& shape) {
    std::vector<SizeExpr> out;
    for (const Expr& e : shape) {
      RELAY_ASSIGN(SizeExpr size, size_(e));
      out.push_back(std::move(size));
    }
    return out;
  }

  // The array in the form of programs. Constants are packed by then, and have other shapes (constant()).
  Result<runtime::Array> resolved(const lower::Array& a) {
    runtime::Array out{a.kind, a.name, a.dtype, {}, {}, 0, {}, Rows::None, {}, a.memory};
    RELAY_ASSIGN(out.shape, sizes(a.shape));
    out.bytes = SegmentBuilder::dense_bytes(out.shape, a.dtype);
    if (a.kind == Kind::Temporary) {  // may have a halo
      RELAY_ASSIGN(out.bytes, size_(a.bytes));
    }
    if (a.kind == Kind::Input || a.kind == Kind::Output) out.rows = a.rows, out.in_place = a.in_place;
    if (a.kind == Kind::View) {
      RELAY_ASSIGN(out.index, array(static_cast<int>(a.index)));
      RELAY_ASSIGN(out.offset, size_(a.offset));
    }
    return out;
  }

  // Every parameter is an input, read or not.
  Status inputs() {
    std::vector<int> array_of(lowered_.input_types.size(), -1);
    for (size_t i = 0; i < lowered_.arrays.size(); ++i)
      if (const lower::Array& a = lowered_.arrays[i]; a.kind == Kind::Input) array_of.at(a.index) = static_cast<int>(i);
    for (size_t i = 0; i < array_of.size(); ++i) {
      RELAY_CHECK(array_of[i] >= 0, "parameter {} of {} is not an array", i, lowered_.name);
      const lower::Array& a = lowered_.arrays[static_cast<size_t>(array_of[i])];
      input_shapes_.push_back(a.shape);
      RELAY_ASSIGN(runtime::Array made, resolved(a));
      made.name = i < lowered_.input_names.size() ? lowered_.input_names[i] : format("input{}", i);
      id_[array_of[i]] = builder_.add(std::move(made));
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
    for (size_t i = 0; i < liveness_.outputs.size(); ++i) {
      const int output = liveness_.outputs[i], holder = liveness_.holder[static_cast<size_t>(output)];
      const lower::Array &a = lowered_.arrays[static_cast<size_t>(output)],
                         &h = lowered_.arrays[static_cast<size_t>(holder)];
      names.push_back(a.name.empty() ? format("output{}", i) : a.name);
      bool same_shape = a.shape.size() == h.shape.size();
      for (size_t d = 0; d < a.shape.size() && same_shape; ++d)
        same_shape = scalar::prove_equal(a.shape[d], h.shape[d]).value_or(false);
      bool made_here = h.kind == Kind::Constant || constants_.is_computed(holder);
      bool returned =
          same_shape && (h.kind == Kind::Output || h.kind == Kind::Input || (made_here && h.layout.is_row_major()));
      if (returned && holder != output) {
        RELAY_ASSIGN(uint32_t made, array(holder));
        builder_.result(made);
        continue;
      }
      if (h.kind == Kind::Constant && !h.layout.is_row_major()) {
        builder_.result(constant(h, h.value));
        continue;
      }
      RELAY_ASSIGN(runtime::Array resolved_output, resolved(a));
      resolved_output.name = names.back();
      const uint32_t made = id_[output] = builder_.add(std::move(resolved_output));
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
    builder_.set_memory(made, a.memory);
    return made;
  }

  // The program's array, created at its first use.
  Result<uint32_t> array(int index) {
    if (std::map<int, uint32_t>::iterator it = id_.find(index); it != id_.end()) return it->second;
    const lower::Array& a = lowered_.arrays[static_cast<size_t>(index)];
    RELAY_CHECK(a.kind != Kind::Input && a.kind != Kind::Output, "array {} is used before it is declared", a.name);
    uint32_t made = 0;
    if (const std::optional<uint32_t> prepared = constants_.prepared(index)) {
      made = builder_.constant(a.name, *prepared, constants_.stored(index));
      builder_.set_memory(made, a.memory);
    } else if (a.kind == Kind::Constant || constants_.is_computed(index)) {
      made = constant(a, constants_.stored(index));
    } else {
      RELAY_ASSIGN(runtime::Array temporary, resolved(a));
      made = builder_.add(std::move(temporary));
    }
    id_[index] = made;
    return made;
  }

  // The number in the program of the kernel, check or function that the step refers to.
  uint32_t callee(const Step& step) {
    switch (step.kind) {
      case Step::Kind::Kernel:
      case Step::Kind::KernelWhen: return parts_.kernel(lowered_.kernels[step.kernel]);
      case Step::Kind::CheckIndices: return builder_.add_check(lowered_.index_checks[step.kernel]);
      case Step::Kind::External: {
        const uint32_t outputs = static_cast<uint32_t>(step.writes.size());
        return parts_.external(*lowered_.externals[step.kernel], static_cast<uint32_t>(step.args.size()) - outputs,
                               outputs);
      }
      case Step::Kind::Copy: break;
    }
    return 0;
  }

  Status add(const Step& step) {
    std::vector<uint32_t> args;
    for (int arg : step.args) {
      RELAY_ASSIGN(uint32_t id, array(arg));
      args.push_back(id);
    }
    RELAY_ASSIGN(std::vector<SizeExpr> values, sizes(step.sizes));
    std::optional<SizeExpr> tasks;
    if (step.calls_kernel()) {
      RELAY_ASSIGN(tasks, size_(step.tasks));
    }
    builder_.step(step.kind, callee(step), args, values, std::move(tasks));
    return ok();
  }

  // Steps on constants have run, or are preparations.
  Status steps() {
    std::vector<lower::Repeat>::const_iterator repeat = lowered_.repeats.begin();
    uint32_t repeated = 0;  // number of its steps
    for (uint32_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      const bool is_written = liveness_.live[s] && !step.constant;
      if (is_written) {
        RELAY_RETURN_IF_ERROR(add(step));
        parts_.lowered_steps.back().push_back(static_cast<int>(s));
      }
      if (repeat == lowered_.repeats.end() || s < repeat->first) continue;
      repeated += is_written;
      if (s + 1 < repeat->first + repeat->count) continue;
      if (repeated > 0) {
        RELAY_ASSIGN(SizeExpr times, size_(repeat->times));
        builder_.repeat_last(std::exchange(repeated, 0), std::move(times));
      }
      ++repeat;
    }
    return ok();
  }

  const LoweredFunction& lowered_;
  const Liveness liveness_;
  Parts& parts_;
  SegmentConstants constants_;
  SizeTranslator size_;
  SegmentBuilder builder_;
  std::vector<Exprs> input_shapes_;
  std::map<int, uint32_t> id_;
  std::vector<std::pair<uint32_t, uint32_t>> copies_;
};

}  // namespace

Result<runtime::Segment> write_segment(const LoweredFunction& lowered, const BuildOptions& options, Parts& parts) {
  return SegmentWriter(lowered, options, parts).run();
}

}  // namespace relay::exec
