// fold_constant: evaluates expressions that depend only on constants.
//
//   add(%x, multiply(2f, 3f))          becomes    add(%x, 6f)
//   if (True) { %x } else { %y }       becomes    %x
//   let %a = 2f; add(%x, %a)           becomes    add(%x, 2f)
//   shape_of(%x)  of  %x: Tensor[(2, 3), float32]    becomes    [2, 3], and ndarray_size(%x) 6
//   (%x, exp(%y)).0                    becomes %x, if the other fields have no effects
//
// Values come from the reference evaluator, which computes as the compiled kernels must. Operands and results of more
// than 64 Ki elements (option fold_constant.max_elements) are not folded. The limit is 256 times as large for
// elementwise operators whose result takes no more memory than an operand, such as weights times a scale: lowering
// chooses the form in which a constant is stored (ResNet-18 with its batch_norm: 14.6 ms instead of 17.9 ms). Work on
// larger constants is compiled and run once, when the artifact is made. An expression that only selects a contiguous
// run of a large constant's elements becomes a constant that shares its memory:
//
//   squeeze(strided_slice(%w: Tensor[(3, 1024, 256), float32], begin=[1], end=[2], axes=[0]), axis=[0])
//
// The total work is bounded in terms of the bytes of the module's constants; work beyond that is compiled too.
//
// Operators without operands (zeros, arange) are not folded: they are smaller than their results. Neither are
// conversions of narrow weights (narrow_weights.h).
#include <algorithm>
#include <cstring>
#include <set>

#include "relay/eval/eval.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/control/effects.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/narrow_weights.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

Type type_of(const Tensor& value) {
  Dims shape;
  for (int64_t d : value.shape()) shape.push_back(scalar::imm(d));
  return tensor_type(std::move(shape), value.dtype());
}

Expr typed_constant(Tensor value, const Span& span) {
  Type type = type_of(value);
  Expr e = constant(std::move(value), span);
  e->type = type;
  return e;
}

class Folder {
 public:
  Folder(const Module& module, int64_t max_elements, bool qnn)
      : effects_(module), max_elements_(max_elements), qnn_(qnn) {
    std::set<const void*> seen;
    for (const auto& [name, f] : module.functions)
      visit(f, [&](const Expr& e) {
        if (const Constant* c = as<Constant>(e); c && seen.insert(c->value.data()).second)
          work_left_ += work_a_byte * static_cast<double>(c->value.bytes());
      });
  }

  void look_at(const FunctionRef& f) { effects_.look_at(f), conversions_ = weight_conversions(f); }

  Expr fold(const Expr& before, const Expr& now) {
    switch (now->kind) {
      case ExprKind::Call: return fold_call(before, now);
      case ExprKind::TupleGetItem: {
        const TupleGetItem* item = as<TupleGetItem>(now);
        const Tuple* t = as<Tuple>(item->tuple);
        return t && !effects_.writes(before) ? t->elements[static_cast<size_t>(item->index)] : now;
      }
      case ExprKind::If: {
        const If* branch = as<If>(now);
        const Constant* c = as<Constant>(branch->condition);
        if (!c) return now;
        const bool holds = c->value.int_at(0) != 0;
        const If* typed = as<If>(before);
        return with_type(holds ? branch->then_branch : branch->else_branch, before->type,
                         (holds ? typed->then_branch : typed->else_branch)->type);
      }
      default: return now;
    }
  }

 private:
  // The most elements that operands and results may have.
  int64_t most_elements(const op::OpDef& def) const {
    const bool elementwise = def.fusion == op::Fusion::Elementwise || def.fusion == op::Fusion::Broadcast;
    return elementwise ? 256 * max_elements_ : max_elements_;
  }

  // The values of the operands, tuples flattened; false if one is not a constant, or too large.
  bool operands(const Call& call, int64_t most, std::vector<Tensor>* values, Types* types) const {
    auto add = [&](const Expr& e) {
      const Constant* c = as<Constant>(e);
      if (!c || c->value.elements() > most) return false;
      values->push_back(c->value);
      return true;
    };
    for (const Expr& a : call.args) {
      Types fields;
      if (const Tuple* t = as<Tuple>(a)) {
        for (const Expr& e : t->elements) {
          if (!add(e)) return false;
          fields.push_back(type_of(values->back()));
        }
        types->push_back(tuple_type(std::move(fields)));
      } else {
        if (!add(a)) return false;
        types->push_back(type_of(values->back()));
      }
    }
    return !values->empty();
  }

  Expr fold_call(const Expr& before, const Expr& now) {
    const Call* call = as<Call>(now);
    const Op* op = as<Op>(call->callee);
    if (!op || !op->def || call->args.empty()) return now;
    if (op->name == "shape_of" || op->name == "ndarray_size") return fold_shape(now, before, op->name == "shape_of");
    if (op->def->fusion == op::Fusion::Opaque || starts_with(op->name, "random.")) return now;
    if ((!qnn_ && starts_with(op->name, "qnn.")) || conversions_.contains(before.get())) return now;
    std::vector<Tensor> values;
    Types types;
    if (!operands(*call, most_elements(*op->def), &values, &types)) return view(*call, *op->def, now);
    Result<Type> type = op->def->infer(call->attrs, types);
    if (!type) return now;
    size_t largest = 0;  // bytes of an operand
    for (const Tensor& v : values) largest = std::max(largest, v.bytes());
    Types results = as<TupleType>(*type) ? as<TupleType>(*type)->fields : Types{*type};
    for (const Type& t : results) {
      std::optional<Shape> shape = static_shape(t);
      std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
      if (!count || *count > most_elements(*op->def)) return now;
      const size_t bytes = static_cast<size_t>(*count) * static_cast<size_t>(as<TensorType>(t)->dtype.bytes());
      if (*count > max_elements_ && bytes > largest) return now;
    }
    // An index out of range is an error of the run that computes this, which may never happen.
    if (!eval::check_indices(*op->def, call->attrs, types, values)) return now;
    return evaluated(*call, *op->def, values, *type, now->span, now);
  }

  // For one large constant: the same elements in the same order, or a contiguous run of them; else `now`.
  static Expr view(const Call& call, const op::OpDef& def, const Expr& now) {
    const Constant* c = call.args.size() == 1 ? as<Constant>(call.args[0]) : nullptr;
    if (!c || !def.compute || def.fusion == op::Fusion::Opaque) return now;
    const Type in_type = type_of(c->value);
    Result<Type> type = def.infer(call.attrs, {in_type});
    if (!type) return now;
    const te::Tensor input = te::placeholder("a", as<TensorType>(in_type)->shape, c->value.dtype());
    const bool several = as<TupleType>(*type);
    const Types results = several ? as<TupleType>(*type)->fields : Types{*type};
    const te::Tensors outputs = def.compute(call.attrs, {input}, *type);
    Exprs parts;
    for (size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
      const std::optional<Shape> shape = static_shape(results[i]);
      const std::optional<int64_t> begin = shape ? run_of(*outputs[i], *input) : std::nullopt;
      if (!begin) return now;
      parts.push_back(typed_constant(part_of(c->value, *begin, *shape), now->span));
    }
    if (!several) return parts[0];
    Expr e = tuple(std::move(parts), now->span);
    e->type = *type;
    return e;
  }

  // The position in `input` where the elements of `stage` begin, if they are contiguous there.
  static std::optional<int64_t> run_of(const te::TensorNode& stage, const te::TensorNode& input) {
    if (!stage.body || stage.combiner != te::Combiner::None || stage.body->kind != scalar::Kind::Load ||
        stage.body->source.get() != static_cast<const scalar::Source*>(&input))
      return std::nullopt;
    scalar::Bounds bounds;
    scalar::Expr there = scalar::imm(0), here = scalar::imm(0);
    for (size_t d = 0; d < input.shape.size(); ++d) there = there * input.shape[d] + stage.body->args[d];
    for (const te::Axis& a : stage.axes) {
      if (!scalar::is_int(a.extent)) return std::nullopt;
      bounds.set(a.var, 0, a.extent->ivalue);
      here = here * a.extent + a.var;
    }
    const scalar::Expr apart = scalar::simplify(there - here, bounds);
    return scalar::is_int(apart) ? std::optional(apart->ivalue) : std::nullopt;
  }

  // Copies the part if it lacks the alignment of constants.
  static Tensor part_of(const Tensor& value, int64_t begin, const Shape& shape) {
    constexpr size_t alignment = 64;
    if (begin == 0 && *element_count(shape) == value.elements()) return value.reshaped(shape);
    const size_t offset = static_cast<size_t>(begin) * static_cast<size_t>(value.dtype().bytes());
    char* data = static_cast<char*>(const_cast<void*>(value.data())) + offset;
    if (reinterpret_cast<uintptr_t>(data) % alignment == 0)
      return Tensor::view(data, shape, value.dtype(), std::make_shared<Tensor>(value));
    Tensor copy = Tensor::empty(shape, value.dtype());
    std::memcpy(copy.mutable_data(), data, copy.bytes());
    return copy;
  }

  Expr evaluated(const Call& call, const op::OpDef& def, const std::vector<Tensor>& values, const Type& type,
                 const Span& span, const Expr& otherwise) {
    te::Tensors inputs;
    eval::TensorBindings bindings;
    for (const Tensor& v : values) {
      te::Tensor input = te::placeholder(format("a{}", inputs.size()), as<TensorType>(type_of(v))->shape, v.dtype());
      bindings.push_back({input, v});
      inputs.push_back(std::move(input));
    }
    te::Tensors outputs = def.compute(call.attrs, inputs, type);
    const double work = work_of(outputs);
    if (work > work_left_) return otherwise;
    work_left_ -= work;
    Result<std::vector<Tensor>> results = eval::evaluate(outputs, bindings);
    if (!results) return otherwise;
    if (!as<TupleType>(type)) return typed_constant(std::move((*results)[0]), span);
    Exprs fields;
    for (Tensor& t : *results) fields.push_back(typed_constant(std::move(t), span));
    Expr e = tuple(std::move(fields), span);
    e->type = type;
    return e;
  }

  // The sizes of the operand, or its number of elements.
  static Expr fold_shape(const Expr& now, const Expr& before, bool is_list) {
    const Expr& operand = as<Call>(before)->args[0];
    std::optional<Shape> shape = static_shape(operand->type);
    const TensorType* result = as<TensorType>(before->type);
    if (!shape || !result) return now;
    if (!is_list) {
      const std::optional<int64_t> count = element_count(*shape);
      return count ? typed_constant(Tensor::from_ints({}, result->dtype, Shape{*count}), now->span) : now;
    }
    return typed_constant(Tensor::from_ints({static_cast<int64_t>(shape->size())}, result->dtype, *shape), now->span);
  }

  // The number of values that the evaluator computes: for each element one per term of its sum. The cost of a program's
  // loops is unknown; it is taken to be that of reading all of an input for each element.
  static double work_of(const te::Tensors& outputs) {
    auto count = [](const scalar::Exprs& extents) {
      double n = 1;
      for (const scalar::Expr& e : extents) n *= scalar::is_int(e) ? static_cast<double>(e->ivalue) : 1;
      return n;
    };
    double work = 0;
    for (const te::Tensor& t : te::topological(outputs)) {
      if (t->is_placeholder()) continue;
      double each = 1;
      for (const te::Axis& a : t->reduce_axes) each *= count({a.extent});
      if (t->is_program())
        for (const te::Tensor& input : te::inputs(t)) each = std::max(each, count(input->shape));
      work += count(t->shape) * each;
    }
    return work;
  }

  // The work allowed for any module, and additionally for each byte of its constants. The evaluator computes about 30
  // million values per second; a weight takes a few operations per element.
  static constexpr double any_work = 1 << 24, work_a_byte = 16;

  Effects effects_;
  NodeSet conversions_;
  int64_t max_elements_;
  bool qnn_;
  double work_left_ = any_work;
};

}  // namespace

// Replaces a variable if the value that it is bound to has become a constant.
static FunctionRef folded(const FunctionRef& f, Folder& folder, PassContext& context) {
  folder.look_at(f);
  NodeMap<std::vector<const ExprNode*>> variables_of;  // of a let-bound value
  visit(f, [&](const Expr& e) {
    const Let* let = as<Let>(e);
    if (let && !forgets_sizes(*let->var, let->value)) variables_of[let->value.get()].push_back(let->var.get());
  });
  NodeMap<Expr> constants;  // of variables
  return rewrite_function(f, context, [&](const Expr& before, const Expr& now) -> Expr {
    Expr r = folder.fold(before, now);
    if (const Expr* value = constants.find(before.get())) r = *value;
    if (const Let* let = as<Let>(before); let && constants.contains(let->var.get())) r = as<Let>(now)->body;
    if (const std::vector<const ExprNode*>* variables = variables_of.find(before.get());
        variables && r->kind == ExprKind::Constant)
      for (const ExprNode* v : *variables) constants[v] = r;
    return r;
  });
}

Result<Module> fold_constant(const Module& module, PassContext& context) {
  Folder folder(module, context.count("fold_constant.max_elements"), context.flag("fold_constant.qnn"));
  return for_each_function(module, [&](const FunctionRef& f) { return folded(f, folder, context); });
}

}  // namespace relay::transform
