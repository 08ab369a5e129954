// scatter_elements: out = data, but out[i0, .., indices[i0, .., k, ..], ..] is updates[i0, .., k, ..], along one axis
// scatter_nd:       out = data, but out[indices[0, y..], .., indices[M - 1, y..], x..] is updates[y.., x..]
//
// With a reduction the updates are combined with data, and with each other, instead of replacing it; if several updates
// replace the same element, the last is kept. Negative indices count from the end; others outside of data are refused.
//
// Updates are applied in the order in which they are stored; along other axes they are independent.
#include "relay/op/gradient.h"
#include "relay/op/index/checked.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace scatter_cpp {
namespace {

struct ScatterElementsAttrs {
  int64_t axis = 0;
  std::string reduction = "update";
  static constexpr auto fields = std::tuple{field("axis", &ScatterElementsAttrs::axis, "The axis that is indexed."),
                                            field("reduction", &ScatterElementsAttrs::reduction,
                                                  "\"update\", \"add\", \"mul\", \"mean\", \"min\" or \"max\".")};
};

struct ScatterNDAttrs {
  std::string mode = "update";
  static constexpr auto fields =
      std::tuple{field("mode", &ScatterNDAttrs::mode, "\"update\", \"add\", \"mul\", \"min\" or \"max\".")};
};

Combiner combiner_of(const std::string& mode) {
  if (mode == "add" || mode == "mean") return Combiner::Sum;
  if (mode == "mul") return Combiner::Prod;
  if (mode == "min") return Combiner::Min;
  return mode == "max" ? Combiner::Max : Combiner::None;
}

Status expect_mode(const char* attribute, const std::string& mode, bool with_mean) {
  if (mode == "update" || (mode == "mean" && with_mean) || (mode != "mean" && combiner_of(mode) != Combiner::None))
    return ok();
  return constraint("C1", "{} must be \"update\", \"add\", \"mul\",{} \"min\" or \"max\", but is \"{}\"", attribute,
                    with_mean ? " \"mean\"," : "", mode);
}

Result<Type> infer(const ScatterElementsAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  RELAY_ASSIGN(const TensorType* updates, tensor_input(in, 2, "updates"));
  // (C1) The reduction is one of six.
  RELAY_RETURN_IF_ERROR(expect_mode("reduction", a.reduction, true));
  // (C2) The indices are integers.
  if (!indices->dtype.is_int()) return constraint("C2", "indices must be integers, but are {}", indices->dtype.str());
  // (C3) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C3", a.axis, rank(data)));
  // (C4) Indices has the axes of data, and is not longer except along the indexed one.
  bool fits = rank(data) == rank(indices);
  for (size_t d = 0; fits && d < data->shape.size(); ++d)
    fits = static_cast<int64_t>(d) == axis || at_least(data->shape[d], indices->shape[d]);
  if (!fits)
    return constraint("C4", "indices {} does not fit data {} along axis {}", text(indices->shape), text(data->shape),
                      axis);
  // (C5) Updates have the shape of indices and the type of data.
  if (!agree(indices->shape, updates->shape))
    return constraint("C5", "updates {} and indices {} differ", text(updates->shape), text(indices->shape));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C5", data, "data", updates, "updates"));
  return in[0];
}

op::Checks checked(const ScatterElementsAttrs& a, const Types& in) {
  const Dims& data = ir::as<ir::TensorType>(in[0])->shape;
  const int64_t axis = positive_axis(a.axis, static_cast<int64_t>(data.size()));
  return {{1, {data[static_cast<size_t>(axis)]}, {axis}}};
}

// The result during the updates: data, or for a mean the number of values per element.
struct Held {
  te::Tensor data;
  Combiner combiner;
  bool counts = false;

  DType dtype() const { return combiner == Combiner::None ? data->dtype : accumulator(data->dtype); }
  Expr first(const Exprs& i) const { return counts ? imm(1, dtype()) : cast(dtype(), (*data)(i)); }
  Stmt update(const BufferRef& result, const Exprs& place, const Expr& value) const {
    const Expr next = counts ? imm(1, dtype()) : cast(dtype(), value);
    const bool replaces = combiner == Combiner::None;
    return loop::store(result, place, replaces ? next : te::combine(combiner, scalar::load(result, place), next));
  }
};

// The axes along which each index is a task: not those in `indexed`, and not the last, along which memory is
// contiguous.
std::vector<size_t> independent_axes(const te::Tensor& data, std::vector<size_t> indexed) {
  if (!data->shape.empty()) indexed.push_back(data->shape.size() - 1);
  return axes_but(data->shape.size(), indexed);
}

// The extents of `data`, 1 for axes in `batch`, and the index that has those of `batch` there.
Exprs own_extents(const te::Tensor& data, const std::vector<size_t>& batch) {
  Exprs out = data->shape;
  for (size_t d : batch) out[d] = dim(1);
  return out;
}
Exprs with_batch(Exprs i, const std::vector<size_t>& batch, const Exprs& vars) {
  for (size_t k = 0; k < batch.size(); ++k) i[batch[k]] = vars[k];
  return i;
}

te::Tensor scatter_elements_into(const Held& held, const te::Tensor& indices, const te::Tensor& updates, size_t axis) {
  const te::Tensor& data = held.data;
  const std::vector<size_t> batch = independent_axes(data, {axis});
  auto loops = [&](const Exprs& b, const BufferRef& result) {
    const Stmt begin = each_of("i", own_extents(data, batch), [&](const Exprs& own) {
      const Exprs i = with_batch(own, batch, b);
      return loop::store(result, i, held.first(i));
    });
    Exprs extents = own_extents(indices, batch);
    Stmt steps = each_of("k", extents, [&](const Exprs& own) {
      const Exprs i = with_batch(own, batch, b);
      return let("to", checked_place((*indices)(i), data->shape[axis]), [&](const Expr& to) {
        Exprs place = i;
        place[axis] = to;
        return held.update(result, place, (*updates)(i));
      });
    });
    for (size_t k = 0; k < batch.size(); ++k)  // indices may cover less of the other axes
      steps = loop::if_(lt(b[k], indices->shape[batch[k]]), steps);
    return loop::block({begin, loop::if_(lt(dim(0), data->shape[axis]), steps)});
  };
  return te::program(held.counts ? "number" : "scatter", data->shape, held.dtype(), batch, loops);
}

te::Tensors compute(const ScatterElementsAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &indices = in[1], &updates = in[2];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const Combiner combiner = combiner_of(a.reduction);
  te::Tensor sum = scatter_elements_into({data, combiner}, indices, updates, axis);
  if (a.reduction != "mean") return {converted(sum, data->dtype)};
  te::Tensor number = scatter_elements_into({data, Combiner::Sum, true}, indices, updates, axis);
  return {elementwise("mean", data, [&](const Exprs& i) {
    // Means of integers are rounded down, as in PyTorch.
    const scalar::BinaryOp division = sum->dtype.is_float() ? scalar::BinaryOp::Div : scalar::BinaryOp::FloorDiv;
    return cast(data->dtype, scalar::binary(division, (*sum)(i), (*number)(i)));
  })};
}

// The number of indexed axes: the first extent of indices, or, if that is unknown, the axes of data that updates lack.
int64_t indexed_axes(const Dims& data, const Dims& indices, const Dims& updates) {
  if (scalar::is_int(indices[0])) return indices[0]->ivalue;
  return std::ssize(data) + std::ssize(indices) - 1 - std::ssize(updates);
}

Result<Type> infer_nd(const ScatterNDAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  RELAY_ASSIGN(const TensorType* updates, tensor_input(in, 2, "updates"));
  // (C1) The mode is one of five.
  RELAY_RETURN_IF_ERROR(expect_mode("mode", a.mode, false));
  // (C2) The indices are integers, and their first axis is the number of indexed axes.
  if (!indices->dtype.is_int() || indices->shape.empty())
    return constraint("C2", "indices must be integers with at least one axis, but are {}", ir::str(in[1]));
  // (C3) Data has that many axes.
  const int64_t m = indexed_axes(data->shape, indices->shape, updates->shape);
  if (m < 0 || m > rank(data) || !agree(indices->shape[0], dim(m)))
    return constraint("C3", "indices {} do not fit data {} and updates {}", text(indices->shape), text(data->shape),
                      text(updates->shape));
  // (C4) Updates are a slice of data per index, of the type of data.
  Dims wanted(indices->shape.begin() + 1, indices->shape.end());
  wanted.insert(wanted.end(), data->shape.begin() + m, data->shape.end());
  if (!agree(wanted, updates->shape))
    return constraint("C4", "updates {} should be {}", text(updates->shape), text(wanted));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", updates, "updates"));
  return in[0];
}

op::Checks checked_nd(const ScatterNDAttrs&, const Types& in) {
  const Dims& data = ir::as<ir::TensorType>(in[0])->shape;
  const int64_t m = indexed_axes(data, ir::as<ir::TensorType>(in[1])->shape, ir::as<ir::TensorType>(in[2])->shape);
  op::CheckedIndices out{1, {}, {}};
  for (int64_t k = 0; k < m; ++k) out.axes.push_back(k), out.extents.push_back(data[static_cast<size_t>(k)]);
  return out.axes.empty() ? op::Checks{} : op::Checks{out};
}

te::Tensors compute_nd(const ScatterNDAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &indices = in[1], &updates = in[2];
  const size_t m = static_cast<size_t>(indexed_axes(data->shape, indices->shape, updates->shape));
  const size_t rank = data->shape.size();
  const Exprs places(indices->shape.begin() + 1, indices->shape.end());  // extents of the axes indexed by y..
  const Held held{data, combiner_of(a.mode)};
  std::vector<size_t> indexed(m);
  for (size_t k = 0; k < m; ++k) indexed[k] = k;
  const std::vector<size_t> batch = independent_axes(data, indexed);
  auto loops = [&](const Exprs& b, const BufferRef& result) {
    const Exprs own = own_extents(data, batch);
    const Stmt begin = each_of("i", own, [&](const Exprs& o) {
      const Exprs i = with_batch(o, batch, b);
      return loop::store(result, i, held.first(i));
    });
    auto update = [&](const Exprs& to, const Exprs& y) {  // the slice at data[to]
      return each_of("x", Exprs(own.begin() + static_cast<std::ptrdiff_t>(m), own.end()), [&](const Exprs& x) {
        Exprs i = to;
        i.insert(i.end(), x.begin(), x.end());
        i = with_batch(std::move(i), batch, b);
        Exprs from = y;
        from.insert(from.end(), i.begin() + static_cast<std::ptrdiff_t>(m), i.end());
        return held.update(result, i, (*updates)(from));
      });
    };
    std::function<Stmt(const Exprs&, Exprs)> place = [&](const Exprs& y, Exprs to) -> Stmt {
      if (to.size() == m) return update(to, y);
      Exprs at = y;
      at.insert(at.begin(), dim(static_cast<int64_t>(to.size())));
      return let("to", checked_place((*indices)(at), data->shape[to.size()]), [&](const Expr& k) {
        Exprs more = to;
        more.push_back(k);
        return place(y, std::move(more));
      });
    };
    Stmt steps = each_of("y", places, [&](const Exprs& y) { return place(y, {}); });
    for (size_t k = 0; k < m; ++k) steps = loop::if_(lt(dim(0), data->shape[k]), steps);
    return loop::block({begin, steps});
  };
  RELAY_CHECK(m <= rank, "{} indices of {} axes", m, rank);
  return {converted(te::program("scatter", data->shape, held.dtype(), batch, loops), data->dtype)};
}

// Either operator at given places, for gradients: `scatter` with a reduction, and `gather` of the elements at the
// places of the updates.
struct Places {
  std::function<ir::Expr(const ir::Expr& data, const ir::Expr& updates, const char* reduction)> scatter;
  std::function<ir::Expr(const ir::Expr& data)> gather;
};

ir::Expr one_where(const ir::Expr& condition, const ir::Expr& like) {
  return grad::call("cast", {condition}, {{"dtype", grad::tensor(like).dtype}});
}

// Replacement: gradients flow only to the last update of each element. The updates' numbers are scattered and gathered
// too; the numbers that return are those of updates that lasted.
ir::Exprs gradient_of_update(const Places& at, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &updates = of.inputs[2], ids = grad::element_numbers(updates),
                 integers = grad::call("cast", {grad::zeros_like(data)}, {{"dtype", DType::int64()}}),
                 last = at.gather(at.scatter(integers, ids, "update")), came = at.gather(of.gradient);
  return {at.scatter(of.gradient, grad::zeros_like(updates), "update"), nullptr,
          grad::call("where", {grad::call("equal", {ids, last}), came, grad::zeros_like(came)})};
}

// Product: each factor gets dy times the other factors. These are the product of all nonzero ones, without the factor
// itself, if no other is zero.
ir::Exprs gradient_of_product(const Places& at, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &updates = of.inputs[2], zero = grad::number(0, data);
  auto is_zero = [&](const ir::Expr& x) { return one_where(grad::call("equal", {x, zero}), data); };
  auto without_zeros = [&](const ir::Expr& x) { return grad::plus(x, is_zero(x)); };
  const ir::Expr scaled = grad::times(of.gradient, at.scatter(without_zeros(data), without_zeros(updates), "mul")),
                 zeros = at.scatter(is_zero(data), is_zero(updates), "add");
  auto of_factor = [&](const ir::Expr& x, const ir::Expr& scaled, const ir::Expr& zeros) {
    const ir::Expr value = grad::over(scaled, without_zeros(x));
    return grad::call("where", {grad::call("equal", {zeros, is_zero(x)}), value, grad::zeros_like(value)});
  };
  return {of_factor(data, scaled, zeros), nullptr, of_factor(updates, at.gather(scaled), at.gather(zeros))};
}

// Maximum: the gradient goes to the greatest values, in equal parts if there are several.
ir::Exprs gradient_of_extremum(const Places& at, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &updates = of.inputs[2], &y = of.output;
  const ir::Expr own = one_where(grad::call("equal", {data, y}), data),
                 came = one_where(grad::call("equal", {updates, at.gather(y)}), data),
                 part = grad::over(of.gradient, at.scatter(own, came, "add"));
  return {grad::times(part, own), nullptr, grad::times(at.gather(part), came)};
}

ir::Exprs gradient_at(const Places& at, const std::string& reduction, const Adjoint& of) {
  if (reduction == "update") return gradient_of_update(at, of);
  if (reduction == "mul") return gradient_of_product(at, of);
  if (reduction == "min" || reduction == "max") return gradient_of_extremum(at, of);
  ir::Expr part = of.gradient;
  if (reduction == "mean") {
    auto ones = [](const ir::Expr& like) { return grad::call("ones_like", {like}); };
    part = grad::over(part, at.scatter(ones(of.inputs[0]), ones(of.inputs[2]), "add"));
  }
  return {part, nullptr, at.gather(part)};
}

ir::Exprs gradient(const ScatterElementsAttrs& a, const Adjoint& of) {
  const ir::Expr& indices = of.inputs[1];
  const Places at{[&](const ir::Expr& data, const ir::Expr& updates, const char* reduction) {
                    return grad::call("scatter_elements", {data, indices, updates},
                                      {{"axis", a.axis}, {"reduction", reduction}});
                  },
                  [&](const ir::Expr& data) { return grad::call("gather", {data, indices}, {{"axis", a.axis}}); }};
  return gradient_at(at, a.reduction, of);
}

ir::Exprs gradient_nd(const ScatterNDAttrs& a, const Adjoint& of) {
  const ir::Expr& indices = of.inputs[1];
  const int64_t m =
      indexed_axes(grad::tensor(of.inputs[0]).shape, grad::tensor(indices).shape, grad::tensor(of.inputs[2]).shape);
  const Places at{[&](const ir::Expr& data, const ir::Expr& updates, const char* mode) {
                    return grad::call("scatter_nd", {data, indices, updates}, {{"mode", mode}});
                  },
                  [&](const ir::Expr& data) { return grad::call("gather_nd", {data, indices}, {{"index_rank", m}}); }};
  return gradient_at(at, a.mode, of);
}

}  // namespace
}  // namespace scatter_cpp

OpDef scatter_elements() {
  using namespace scatter_cpp;
  return define<ScatterElementsAttrs>(
      {.name = "scatter_elements",
       .doc = "Replaces elements of data along an axis by updates, or combines them.",
       .inputs = {{"data", "any shape"},
                  {"indices", "integers: positions along the axis"},
                  {"updates", "the shape of indices"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .gradient = gradient,
       .oracle = "scatter_elements(data, indices, updates, axis, reduction)",
       .examples =
           {{.inputs = {"(3, 5)", "(2, 4) int64", "(2, 4)"}, .attrs = "axis=1", .low = -5, .high = 4},
            {.inputs = {"(6, 2)", "(4, 2) int32", "(4, 2)"},
             .attrs = "reduction=\"add\"",
             .symbolic = {"(6, n)", "(4, n) int32", "(4, n)"},
             .low = 0,
             .high = 5},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"},
             .attrs = "axis=-1, reduction=\"mul\"",
             .low = 0,
             .high = 4},
            {.inputs = {"(3, 5)", "(3, 7) int64", "(3, 7)"}, .attrs = "axis=1, reduction=\"min\"", .low = 0, .high = 4},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"}, .attrs = "axis=1, reduction=\"max\"", .low = 0, .high = 4},
            {.inputs = {"(3, 5)", "(3, 4) int64", "(3, 4)"},
             .attrs = "axis=1, reduction=\"mean\"",
             .low = 0,
             .high = 4}},
       .rejects = {{{"(2, 3)", "(2, 3) int32", "(2, 3)"}, "reduction=\"xor\"", "C1"},
                   {{"(2, 3)", "(2, 3)", "(2, 3)"}, "", "C2"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 3)"}, "axis=2", "C3"},
                   {{"(2, 3)", "(2, 4) int32", "(2, 4)"}, "axis=0", "C4"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 2)"}, "", "C5"},
                   {{"(2, 3)", "(2, 3) int32", "(2, 3) int32"}, "", "C5"}}},
      "ScatterElementsAttrs");
}

OpDef scatter_nd() {
  using namespace scatter_cpp;
  return define<ScatterNDAttrs>(
      {.name = "scatter_nd",
       .doc = "Replaces slices of data by updates, or combines them. Index tuples are stored along the first axis of "
              "indices, whose extent may be unknown: data and updates determine it.",
       .inputs = {{"data", "any shape"},
                  {"indices", "integers, (M, ..)"},
                  {"updates", "a slice of data for each index tuple"}},
       .fusion = Fusion::Opaque,
       .infer = infer_nd,
       .compute = compute_nd,
       .checked = checked_nd,
       .gradient = gradient_nd,
       .oracle = "scatter_nd(data, indices, updates, mode)",
       .examples =
           {{.inputs = {"(4, 5, 3)", "(2, 6) int64", "(6, 3)"},
             .symbolic = {"(4, 5, w)", "(2, n) int64", "(n, w)"},
             .low = 0,
             .high = 3},
            {.inputs = {"(4, 5)", "(1, 2, 3) int32", "(2, 3, 5)"}, .attrs = "mode=\"add\"", .low = -4, .high = 3},
            {.inputs = {"(4, 5)", "(2, 6) int64", "(6,)"}, .attrs = "mode=\"mul\"", .low = 0, .high = 3},
            {.inputs = {"(4, 5)", "(2, 6) int64", "(6,)"}, .attrs = "mode=\"min\"", .low = 0, .high = 3},
            {.inputs = {"(4, 5)", "(1, 6) int64", "(6, 5)"}, .attrs = "mode=\"max\"", .low = 0, .high = 3}},
       .rejects = {{{"(2, 3)", "(1, 3) int32", "(3, 3)"}, "mode=\"mean\"", "C1"},
                   {{"(2, 3)", "(1, 3)", "(3, 3)"}, "", "C2"},
                   {{"(2, 3)", "(3, 2) int32", "(2,)"}, "", "C3"},
                   {{"(2, 3)", "(m, 2) int32", "(2, 3, 1)"}, "", "C3"},
                   {{"(2, 3)", "(1, 2) int32", "(2, 4)"}, "", "C4"},
                   {{"(2, 3)", "(1, 2) int32", "(2, 3) int32"}, "", "C4"}}},
      "ScatterNDAttrs");
}

}  // namespace relay::ops
