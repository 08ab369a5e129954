// Tensor expressions in Python: python/relay/te.py builds their language.
#include "relay/te/te.h"

#include "callback.h"
#include "convert.h"

namespace relay::python {

using scalar::Expr;
using scalar::Exprs;

template <class Op>
static Op find_op(const std::string& name, int last) {
  for (int i = 0; i <= last; ++i)
    if (name == scalar::name(static_cast<Op>(i))) return static_cast<Op>(i);
  throw nb::value_error(format("there is no operation '{}' on numbers", name).c_str());
}

static te::Combiner find_combiner(const std::string& name) {
  for (te::Combiner c : {te::Combiner::Sum, te::Combiner::Prod, te::Combiner::Max, te::Combiner::Min})
    if (name == te::name(c)) return c;
  throw nb::value_error(format("there is no reduction '{}': sum, prod, max, min", name).c_str());
}

static te::Tensor compute(const std::string& name, nb::handle shape, const nb::callable& body) {
  return te::compute(name, to_dims(shape), [&](const Exprs& axes) { return nb::cast<Expr>(body(axes)); });
}

static te::Tensor reduce(const std::string& name, nb::handle shape, nb::handle extents, const std::string& combiner,
                         const nb::callable& body) {
  return te::reduce(name, to_dims(shape), to_dims(extents), find_combiner(combiner),
                    [&](const Exprs& axes, const Exprs& inner) { return nb::cast<Expr>(body(axes, inner)); });
}

static Expr number(nb::handle value, const std::string& dtype) {
  const DType type = to_dtype(dtype);
  if (type.is_float()) return scalar::fimm(nb::cast<double>(value), type);
  return scalar::imm(nb::cast<int64_t>(nb::int_(value)), type);
}

void add_te(nb::module_& m) {
  nb::class_<te::TensorNode>(m, "TeTensor", "A tensor of a tensor expression: relay.te.")
      .def_prop_ro("name", [](const te::TensorNode& t) { return t.name; })
      .def_prop_ro("dtype", [](const te::TensorNode& t) { return t.dtype.str(); })
      .def_prop_ro("shape", [](const te::TensorNode& t) { return from_dims(t.shape); })
      .def("__repr__", [](const te::Tensor& t) { return te::str(t); });
  m.def("te_compute", compute, nb::arg("name"), nb::arg("shape"), nb::arg("body"));
  m.def("te_reduce", reduce, nb::arg("name"), nb::arg("shape"), nb::arg("extents"), nb::arg("combiner"),
        nb::arg("body"));
  m.def("te_number", number, nb::arg("value"), nb::arg("dtype"));
  m.def("te_size", [](nb::handle size) { return to_dim(size); }, nb::arg("size"));
  m.def("te_dtype", [](const Expr& e) { return e->dtype.str(); }, nb::arg("number"));
  m.def(
      "te_unary",
      [](const std::string& op, Expr a) {
        return scalar::unary(find_op<scalar::UnaryOp>(op, static_cast<int>(scalar::UnaryOp::BitNot)), std::move(a));
      },
      nb::arg("op"), nb::arg("a"));
  m.def(
      "te_binary",
      [](const std::string& op, Expr a, Expr b) {
        return scalar::binary(find_op<scalar::BinaryOp>(op, static_cast<int>(scalar::BinaryOp::Shr)), std::move(a),
                              std::move(b));
      },
      nb::arg("op"), nb::arg("a"), nb::arg("b"));
  m.def("te_select", scalar::select, nb::arg("condition"), nb::arg("then"), nb::arg("otherwise"));
  m.def(
      "te_cast", [](const std::string& dtype, Expr a) { return scalar::cast(to_dtype(dtype), std::move(a)); },
      nb::arg("dtype"), nb::arg("a"));
  m.def(
      "te_load",
      [](const te::Tensor& t, Exprs indices) {
        if (indices.size() != t->shape.size())
          throw nb::index_error(
              format("{} has {} axes, but {} indices are given", t->name, t->shape.size(), indices.size()).c_str());
        return (*t)(std::move(indices));
      },
      nb::arg("tensor"), nb::arg("indices"));
}

}  // namespace relay::python
