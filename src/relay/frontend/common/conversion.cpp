#include "relay/frontend/common/conversion.h"

#include <algorithm>
#include <numeric>

#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Expr;

// --- failing ---------------------------------------------------------------------------------------------------------

Failure Conversion::report(DiagnosticKind kind, std::string what, std::string help) {
  if (std::exchange(failed_, true)) return {};
  import_.report({kind, format("{}: {}", *place_.node, what), place_, {}, {}, std::move(help)});
  return {};
}

Failure Conversion::report(Diagnostics errors, const ir::Exprs& args) {
  if (std::exchange(failed_, true)) return {};
  for (Diagnostic& d : errors) {
    d.message = format("{}: {}", *place_.node, d.message);
    d.span = place_;
    std::vector<std::string> types;
    for (const Expr& a : args) types.push_back(ir::str(a->type));
    if (!types.empty()) d.notes.push_back(format("inputs: {}", join(types, ", ")));
    import_.report(std::move(d));
  }
  return {};
}

// --- inputs ----------------------------------------------------------------------------------------------------------

Expr Conversion::input(size_t i) {
  if (!has(i)) return nullptr;
  return expression(inputs_[i]);
}

Expr Conversion::expression(const Value& value) {
  Expr e = import_.expression(value, place_);
  if (!e) failed_ = true;
  return e;
}

ir::Exprs Conversion::all_inputs() {
  ir::Exprs all;
  for (size_t i = 0; i < inputs(); ++i) all.push_back(has(i) ? input(i) : Expr(bad("input {} is missing", i)));
  return all;
}

KnownRef Conversion::known(size_t i) const {
  if (!has(i)) return nullptr;
  if (inputs_[i].known) return inputs_[i].known;
  const ir::Constant* c = ir::as<ir::Constant>(inputs_[i].expr);
  return c ? known_of(c->value) : nullptr;
}

Value Conversion::known_result(KnownRef known, function_ref<Expr()> written) {
  Value value(std::move(known));
  if (import_.options().as_written && as_tensor(*value.known)) value.expr = written();
  return value;
}

bool Conversion::is_static(size_t i) const {
  const KnownRef k = known(i);
  auto is_number = [](const scalar::Expr& e) { return is_int(e) || e->kind == scalar::Kind::Float; };
  return k && std::all_of(k->values.begin(), k->values.end(), is_number);
}

std::optional<ir::Dims> Conversion::dims(size_t i, const char* what) {
  KnownRef k = known(i);
  if (k && !k->dtype.is_float() && k->shape.size() <= 1) return k->values;
  const ir::Constant* c = k || !has(i) ? nullptr : ir::as<ir::Constant>(inputs_[i].expr);
  if (c && c->value.elements() > max_known)
    over_limit("{} has {} elements, more than the limit of {}", what, c->value.elements(), max_known);
  else if (k)
    bad("{} should be a list of integers, but is {} of rank {}", what, k->dtype.str(), k->shape.size());
  else
    refused(format("{} (input '{}') is computed while the model runs; it must be known at import", what,
                   i < names_.size() ? names_[i] : ""),
            "give the shapes of the inputs (--shape NAME=1,3,224,224), or store the values in the model, as an "
            "initialiser instead of an input");
  return std::nullopt;
}

std::optional<ir::Ints> Conversion::ints(size_t i, const char* what) {
  std::optional<ir::Dims> values = dims(i, what);
  if (!values) return std::nullopt;
  ir::Ints out;
  for (const ir::Dim& d : *values) {
    if (!is_int(d)) {
      refused(format("{} is [{}], which depends on the size of an input, but must be constant", what, scalar::str(d)),
              "give the inputs' shapes: --shape NAME=1,3,224,224");
      return std::nullopt;
    }
    out.push_back(d->ivalue);
  }
  return out;
}

std::optional<double> Conversion::number(size_t i, const char* what) {
  KnownRef k = known(i);
  if (k && k->values.size() == 1) {
    if (k->values[0]->kind == scalar::Kind::Float) return k->values[0]->fvalue;
    if (k->values[0]->kind == scalar::Kind::Int) return static_cast<double>(k->values[0]->ivalue);
  }
  refused(format("{} (input '{}') must be one number, known at import", what, i < names_.size() ? names_[i] : ""),
          "store it in the model; if it is an input of the graph, make it an initialiser instead");
  return std::nullopt;
}

// --- attributes ------------------------------------------------------------------------------------------------------

int64_t Conversion::integer(std::string_view name, int64_t otherwise) {
  std::optional<AttributeView> a = attribute(name);
  if (!a) return otherwise;
  if (const int64_t* value = std::get_if<int64_t>(&a->value)) return *value;
  bad("attribute {} should be an int, but is of kind {}", name, a->kind);
  return otherwise;
}

double Conversion::real(std::string_view name, double otherwise) {
  std::optional<AttributeView> a = attribute(name);
  if (!a) return otherwise;
  if (const double* value = std::get_if<double>(&a->value)) return *value;
  bad("attribute {} should be a float, but is of kind {}", name, a->kind);
  return otherwise;
}

std::string Conversion::text(std::string_view name, const char* otherwise) {
  std::optional<AttributeView> a = attribute(name);
  if (!a) return otherwise;
  if (const std::string_view* value = std::get_if<std::string_view>(&a->value)) return std::string(*value);
  bad("attribute {} should be a string, but is of kind {}", name, a->kind);
  return otherwise;
}

ir::Ints Conversion::ints(std::string_view name, ir::Ints otherwise) {
  return optional_ints(name).value_or(std::move(otherwise));
}

std::optional<ir::Ints> Conversion::optional_ints(std::string_view name) {
  std::optional<AttributeView> a = attribute(name);
  if (!a) return std::nullopt;
  if (const std::span<const int64_t>* value = std::get_if<std::span<const int64_t>>(&a->value))
    return ir::Ints(value->begin(), value->end());
  if (const int64_t* value = std::get_if<int64_t>(&a->value)) return ir::Ints{*value};
  bad("attribute {} should be a list of ints, but is of kind {}", name, a->kind);
  return std::nullopt;
}

std::optional<ir::Ints> Conversion::ints_attribute_or_input(std::string_view name, size_t i) {
  if (has_attribute(name)) return optional_ints(name);
  if (has(i)) return ints(i, std::string(name).c_str());
  return std::nullopt;
}

// --- types -----------------------------------------------------------------------------------------------------------

const ir::Dims& Conversion::shape(const Expr& e) const {
  static const ir::Dims none;
  const ir::TensorType* t = e ? ir::as<ir::TensorType>(e->type) : nullptr;
  return t ? t->shape : none;
}

DType Conversion::dtype(const Expr& e) const {
  const ir::TensorType* t = e ? ir::as<ir::TensorType>(e->type) : nullptr;
  return t ? t->dtype : DType::float32();
}

std::optional<int64_t> Conversion::fixed_extent(const Expr& e, int64_t axis, const char* what) {
  std::optional<int64_t> size = extent(e, axis);
  if (!size && e) unsized("axis {} of {} has no fixed size: {}", axis, what, ir::str(e->type));
  return size;
}

std::optional<int64_t> Conversion::extent(const Expr& e, int64_t axis) const {
  const ir::Dims& dims = shape(e);
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size()) || !is_int(dims[axis])) return std::nullopt;
  return dims[axis]->ivalue;
}

bool Conversion::expect_rank(const Expr& e, int64_t least, int64_t most, const char* what) {
  if (!e) return false;
  if (rank(e) >= least && rank(e) <= most) return true;
  if (least == most)
    bad("{} should have {}, but is {}", what, plural(least, "axis", "axes"), ir::str(e->type));
  else
    unsupported("{} should have {} to {} axes, but is {}", what, least, most, ir::str(e->type));
  return false;
}

std::optional<int64_t> Conversion::axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  bad("axis {} is out of range for {}", axis, plural(rank, "axis", "axes"));
  return std::nullopt;
}

std::optional<ir::Ints> Conversion::axes(ir::Ints axes, int64_t rank) {
  for (int64_t& a : axes) {
    std::optional<int64_t> normal = axis(a, rank);
    if (!normal) return std::nullopt;
    a = *normal;
  }
  ir::Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    bad("axes [{}] contains an axis twice", join(axes, ", "));
    return std::nullopt;
  }
  return axes;
}

// --- making expressions ----------------------------------------------------------------------------------------------

Expr Conversion::emit(const char* op, ir::Exprs args, const EmitAttrs& attrs) {
  for (const Expr& a : args)
    if (!a) {
      failed_ = true;  // the cause of the null has been reported
      return nullptr;
    }
  if (!import_.may_call(place_)) {
    failed_ = true;
    return nullptr;
  }
  Result<Expr> made = emit_call(op, args, attrs, place_);
  return made ? *made : Expr(report(made.errors(), args));
}

Expr Conversion::tuple(ir::Exprs elements) {
  for (const Expr& e : elements)
    if (!e) return nullptr;
  return emit_tuple(std::move(elements), place_);
}

Expr Conversion::get(const Expr& tuple, int64_t index) { return tuple ? emit_get(tuple, index, place_) : Expr(); }

Expr Conversion::choose(const Expr& condition, const Expr& then_side, const Expr& else_side) {
  if (!condition || !then_side || !else_side) return nullptr;
  return emit_if(condition, then_side, else_side, place_);
}

// The common type of two instances of one data type.
static ir::Type joined_data(const ir::TypeCall& a, const ir::TypeCall& b) {
  if (!equal(a.callee, b.callee) || a.args.size() != b.args.size()) return {};
  ir::Types args;
  for (size_t i = 0; i < a.args.size(); ++i) {
    args.push_back(common_type(a.args[i], b.args[i]));
    if (!args.back()) return {};
  }
  return make<ir::TypeCall>(a.callee, std::move(args));
}

ir::Type common_type(const ir::Type& a, const ir::Type& b) {
  const ir::TypeCall *data = ir::as<ir::TypeCall>(a), *other = ir::as<ir::TypeCall>(b);
  if (data && other) return joined_data(*data, *other);
  const ir::TensorType *x = ir::as<ir::TensorType>(a), *y = ir::as<ir::TensorType>(b);
  if (!x || !y || x->dtype != y->dtype || x->shape.size() != y->shape.size()) return {};
  ir::Dims shape;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    const ir::Dim &d = x->shape[i], &e = y->shape[i];
    const bool same = !is_any(d) && !is_any(e) && scalar::prove_equal(d, e) == true;
    shape.push_back(same ? d : scalar::any_dim());
  }
  return ir::tensor_type(std::move(shape), x->dtype);
}

ir::VarRef Conversion::variable(std::string name, const ir::Type& type) {
  ir::VarRef made = ir::var(std::move(name), type, place_);
  made->type = type;
  return made;
}

Expr Conversion::let(const ir::VarRef& variable, const Expr& value, const Expr& body) {
  if (!value || !body) return nullptr;
  Expr made = ir::let(variable, value, body, place_);
  made->type = body->type;
  return made;
}

Expr Conversion::widened(const Expr& e, const ir::Type& type) {
  if (!e || equal(e->type, type)) return e;
  ir::VarRef wide = variable("any_size", type);
  return let(wide, e, wide);
}

// Both sides go through one function, whose parameter has their common type.
Expr Conversion::choose_as(const ir::Type& type, const Expr& condition, const Expr& then_side, const Expr& else_side) {
  if (!condition || !then_side || !else_side) return nullptr;
  if (equal(then_side->type, type) && equal(else_side->type, type)) return choose(condition, then_side, else_side);
  ir::VarRef value = variable("any_size", type), join = variable("join", ir::func_type({type}, type));
  ir::FunctionRef function = ir::function({value}, value, type, {}, {}, place_);
  function->type = join->type;
  auto through = [&](const Expr& e) {
    Expr made = ir::call(join, {e}, {}, place_);
    made->type = type;
    return made;
  };
  return let(join, function, choose(condition, through(then_side), through(else_side)));
}

// There is only row 0 to take; a non-zero `failed` would take the next.
Expr Conversion::require(const Expr& e, const Expr& failed, const std::string& refusal) {
  Expr row = broadcast_to(integer_scalar(0), {scalar::imm(1)});
  row = emit("take", {row, failed}, {{"axis", int64_t{0}}, {"mode", "checked"}, {"refusal", refusal}});
  return emit("where", {emit("equal", {row, integer_scalar(0)}), e, e});
}

Expr Conversion::size_of(const Expr& e, int64_t axis) {
  if (!e) return nullptr;
  if (std::optional<int64_t> known = extent(e, axis)) return integer_scalar(*known);
  Expr sizes = emit("shape_of", {e}, {{"dtype", DType::int64()}});
  return emit("take", {sizes, integer_scalar(axis)}, {{"axis", int64_t{0}}});
}

Expr Conversion::count_up(const Expr& like, int64_t axis) {
  if (!like) return nullptr;
  if (std::optional<int64_t> count = extent(like, axis)) {
    if (!may_make(*count, DType::int64())) return nullptr;
    Tensor values = Tensor::empty({*count}, DType::int64());
    for (int64_t i = 0; i < *count; ++i) values.set_int(i, i);
    return constant(std::move(values));
  }
  const ir::Dim& size = shape(like)[static_cast<size_t>(axis)];
  if (is_any(size))
    return emit("arange", {integer_scalar(0), size_of(like, axis), integer_scalar(1)}, {{"dtype", DType::int64()}});
  return emit("cumsum", {broadcast_to(integer_scalar(1), {size})}, {{"axis", int64_t{0}}, {"exclusive", true}});
}

Expr Conversion::constant(Tensor value) { return value ? emit_constant(std::move(value), place_) : Expr(); }

bool Conversion::may_make(int64_t elements, DType dtype) {
  const int64_t most = import_.options().limits.constants;
  if (elements <= most / dtype.bytes() && import_.account(elements * dtype.bytes())) return true;
  report(DiagnosticKind::limit_exceeded,
         format("a constant of {} elements would be created, but all constants of an import may have at most {} bytes",
                elements, most),
         "give smaller shapes, or store the constant in the model's file; " + how_to_allow("constants"));
  return false;
}

Expr Conversion::multiply(Expr a, double b) { return b == 1 ? a : emit("multiply", {a, scalar(b, dtype(a))}); }
Expr Conversion::add(Expr a, double b) { return b == 0 ? a : emit("add", {a, scalar(b, dtype(a))}); }

Expr Conversion::cast(const Expr& e, DType to) { return e && dtype(e) == to ? e : emit("cast", {e}, {{"dtype", to}}); }

// Lists of constant sizes are written as plain numbers.
static ir::AttrValue dims_attribute(const ir::Dims& dims) {
  ir::Ints numbers;
  for (const ir::Dim& d : dims) {
    if (!is_int(d)) return dims;
    numbers.push_back(d->ivalue);
  }
  return numbers;
}

Expr Conversion::reshape(const Expr& e, const ir::Dims& to, const ir::Ints& codes) {
  if (!e) return emit("reshape", {e});
  const ir::Dims& from = shape(e);
  bool same = from.size() == to.size();
  for (size_t i = 0; same && i < to.size(); ++i) same = scalar::prove_equal(from[i], to[i]) == true;
  if (same) return e;
  // In Relay a 0 keeps the input's size, unless configured otherwise. A single size that is known only at run time is
  // inferred from the others.
  const bool zero = std::any_of(to.begin(), to.end(), [](const ir::Dim& d) { return is_int(d, 0); });
  ir::Dims sizes = to;
  const int64_t open = std::count_if(to.begin(), to.end(), scalar::is_any);
  if (open > (zero ? 0 : 1) && !codes.empty()) return emit("reshape", {e}, {{"newshape", codes}});
  if (!zero && open == 1) *std::find_if(sizes.begin(), sizes.end(), scalar::is_any) = scalar::imm(-1);
  EmitAttrs attrs{{"newshape", dims_attribute(sizes)}};
  if (zero) attrs.push_back({"allowzero", true});
  return emit("reshape", {e}, attrs);
}

Expr Conversion::transpose(const Expr& e, const ir::Ints& axes) {
  ir::Ints same(axes.size());
  std::iota(same.begin(), same.end(), 0);
  return e && axes == same ? e : emit("transpose", {e}, {{"axes", axes}});
}

Expr Conversion::broadcast_to(const Expr& e, const ir::Dims& to) {
  if (!e) return emit("broadcast_to", {e});
  const ir::Dims& from = shape(e);
  bool same = from.size() == to.size();
  for (size_t i = 0; same && i < to.size(); ++i) same = scalar::prove_equal(from[i], to[i]) == true;
  return same ? e : emit("broadcast_to", {e}, {{"shape", dims_attribute(to)}});
}

Expr Conversion::slice(const Expr& e, int64_t axis, int64_t begin, int64_t end) {
  return emit("strided_slice", {e},
              {{"begin", ir::Ints{begin}}, {"end", ir::Ints{end}}, {"strides", ir::Ints{1}}, {"axes", ir::Ints{axis}}});
}

Expr Conversion::squeeze(const Expr& e, int64_t axis) { return emit("squeeze", {e}, {{"axis", ir::Ints{axis}}}); }

Expr Conversion::expand(const Expr& e, int64_t axis) {
  return emit("expand_dims", {e}, {{"axis", axis}, {"num_newaxis", int64_t{1}}});
}

// reshape's -4 splits the axis into 1 and the extent, and checks that their product matches it, whatever the other axes
// are.
Expr Conversion::with_extent(const Expr& e, int64_t axis, int64_t size) {
  if (!e || extent(e, axis) == size) return e;
  ir::Ints codes(static_cast<size_t>(axis), 0);
  codes.insert(codes.end(), {-4, 1, size});
  codes.resize(shape(e).size() + 2, 0);
  return squeeze(emit("reshape", {e}, {{"newshape", codes}}), axis);
}

Expr Conversion::concatenate(ir::Exprs parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Expr all = tuple(std::move(parts));
  return all ? emit("concatenate", {all}, {{"axis", axis}}) : Expr();
}

Expr Conversion::reduce(const char* op, const Expr& e, const ir::Ints& axes, bool keepdims) {
  return emit(op, {e}, {{"axis", axes}, {"keepdims", keepdims}});
}

Expr Conversion::pad(Expr e, ir::IntLists width, const Expr& value, const std::string& mode) {
  ir::Ints axes, begin, end;
  bool any = false;
  for (size_t i = 0; i < width.size(); ++i) {
    int64_t &before = width[i][0], &after = width[i][1];
    if (before < 0 || after < 0) {
      const int64_t axis = static_cast<int64_t>(i), first = std::max<int64_t>(-before, 0);
      std::optional<int64_t> size = extent(e, axis);
      if (!e) return nullptr;
      if (size && first > *size + std::min<int64_t>(after, 0))
        return bad("padding axis {} by {} and {} cuts off more than all of {}", i, before, after, ir::str(e->type));
      // For an unknown size, a negative end counts from the end.
      const int64_t last = size        ? *size + std::min<int64_t>(after, 0)
                           : after < 0 ? after
                                       : std::numeric_limits<int32_t>::max();
      if (!size) e = emit("annotation.bounded", {e}, {{"axis", axis}, {"least", first + std::max<int64_t>(-after, 0)}});
      axes.push_back(static_cast<int64_t>(i)), begin.push_back(first), end.push_back(last);
      before = std::max<int64_t>(before, 0), after = std::max<int64_t>(after, 0);
    }
    any = any || before > 0 || after > 0;
  }
  if (!axes.empty())
    e = emit("strided_slice", {e},
             {{"begin", begin}, {"end", end}, {"strides", ir::Ints(axes.size(), 1)}, {"axes", axes}});
  return any ? emit("nn.pad", {e, value}, {{"pad_width", width}, {"pad_mode", mode}}) : e;
}

// --- the end ---------------------------------------------------------------------------------------------------------

Values Conversion::finish(Values results, const std::vector<std::string_view>& names) {
  bool missing = false;
  for (size_t i = 0; i < names.size(); ++i) missing |= !names[i].empty() && (i >= results.size() || !results[i]);
  if (missing && !failed_)
    unsupported("it has {}, but only {} can be imported",
                plural(static_cast<int64_t>(names.size()), "output", "outputs"), results.size());
  return failed_ ? Values() : std::move(results);
}

}  // namespace relay::frontend
