#include "relay/exec/segment.h"

#include <map>

#include "relay/exec/constants.h"
#include "relay/exec/sizes.h"
#include "relay/ir/main_function.h"
#include "relay/ir/type.h"
#include "relay/lower/plan/views.h"
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
      if (a) id_[array_of[i]] = made, builder_.set_rows(made, a->rows), builder_.set_memory(made, a->memory);
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
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(a.shape));
      uint32_t made = builder_.output(names.back(), a.dtype, std::move(shape));
      id_[output] = made;
      builder_.set_rows(made, a.rows), builder_.set_memory(made, a.memory);
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
    builder_.set_memory(made, a.memory);
    return made;
  }

  // The array in the host's memory: itself, or a temporary to which a step copies it.
  Result<uint32_t> array_on_host(int index) {
    RELAY_ASSIGN(const uint32_t made, array(index));
    if (builder_.memory(made) == host_memory) return made;
    if (const auto known = on_host_.find(index); known != on_host_.end()) return known->second;
    const uint32_t copy = builder_.temporary_like(made, host_memory);
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
    } else if (const std::optional<uint32_t> prepared = constants_.prepared(index)) {
      made = builder_.constant(a.name, *prepared, constants_.stored(index));
      builder_.set_memory(made, a.memory);
    } else if (a.kind == Kind::Constant || constants_.is_computed(index)) {
      made = constant(a, constants_.stored(index));
    } else {
      RELAY_ASSIGN(std::vector<SizeExpr> shape, sizes(a.shape));
      made = builder_.temporary(a.name, a.dtype, std::move(shape));
      builder_.set_memory(made, a.memory);
      Expr bytes = scalar::imm(a.dtype.bytes());
      for (const Expr& e : a.layout.physical_shape(a.shape)) bytes = bytes * e;
      RELAY_ASSIGN(SizeExpr stored_bytes, size_(bytes));
      builder_.set_bytes(made, std::move(stored_bytes));
    }
    id_[index] = made;
    return made;
  }

  Status check_indices(const Step& step) {
    RELAY_ASSIGN(uint32_t indices, array_on_host(step.args[0]));
    RELAY_ASSIGN(std::vector<SizeExpr> extents, sizes(step.check->extents));
    const Rows of_calls = lowered_.arrays[static_cast<size_t>(step.args[0])].rows;
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
      if (!liveness_.live[s] || step.constant) continue;
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
      RELAY_ASSIGN(SizeExpr tasks, size_(task_count(lowered_, step)));
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
  const Liveness liveness_;
  Parts& parts_;
  SegmentConstants constants_;
  SizeTranslator size_;
  SegmentBuilder builder_;
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
