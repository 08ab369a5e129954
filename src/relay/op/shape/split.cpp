// split: cuts data along an axis: the k-th result [.., i, ..] = data[.., begin(k) + i, ..]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace split_cpp {
namespace {

struct SplitAttrs {
  IntOrInts indices_or_sections = int64_t{1};
  int64_t axis = 0;
  static constexpr auto fields =
      std::tuple{required_field("indices_or_sections", &SplitAttrs::indices_or_sections,
                                "The number of equal parts, or the list of positions to cut at."),
                 field("axis", &SplitAttrs::axis, "The axis to cut.")};
};

Result<Type> infer(const SplitAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  size_t at = static_cast<size_t>(axis);
  const Dim& extent = data->shape[at];
  Dims parts;
  if (const int64_t* sections = std::get_if<int64_t>(&a.indices_or_sections)) {
    // (C2) The parts are equal.
    if (*sections < 1) return constraint("C2", "data cannot be split into {} parts", *sections);
    if (!divides(dim(*sections), extent))
      return constraint("C2", "axis {} of data {} cannot be split into {} equal parts", axis, text(data->shape),
                        *sections);
    parts.assign(static_cast<size_t>(*sections), floordiv(extent, *sections));
  } else {
    // (C3) The cuts ascend within the axis.
    int64_t begin = 0;
    for (int64_t cut : std::get<Ints>(a.indices_or_sections)) {
      if (cut < begin || !at_least(extent, dim(cut)))
        return constraint("C3", "the positions to cut {} do not ascend within the extent {}",
                          text(std::get<Ints>(a.indices_or_sections)), scalar::str(extent));
      parts.push_back(dim(cut - begin));
      begin = cut;
    }
    parts.push_back(extent - begin);
  }
  Types fields;
  for (const Dim& part : parts) {
    Dims shape = data->shape;
    shape[at] = scalar::simplify(part);
    fields.push_back(ir::tensor_type(std::move(shape), data->dtype));
  }
  return ir::tuple_type(std::move(fields));
}

te::Tensors compute(const SplitAttrs& a, const te::Tensors& in, const Type& out) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  te::Tensors parts;
  Expr begin = dim(0);
  for (const Type& part : as<TupleType>(out)->fields) {
    parts.push_back(te::compute("split", shape_of(part), [&](Exprs i) {
      i[axis] = i[axis] + begin;
      return (*in[0])(i);
    }));
    begin = scalar::simplify(begin + shape_of(part)[axis]);
  }
  return parts;
}

ir::Exprs gradient(const SplitAttrs& a, const Adjoint& of) {
  return {grad::call("concatenate", {of.gradient}, {{"axis", a.axis}})};
}

}  // namespace
}  // namespace split_cpp

OpDef split() {
  using namespace split_cpp;
  return define<SplitAttrs>(
      {.name = "split",
       .doc = "Splits a tensor along an axis. Returns a tuple.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "tuple(torch.tensor_split(data, indices_or_sections, axis))",
       .examples = {{.inputs = {"(6, 4)"}, .attrs = "indices_or_sections=3", .symbolic = {"(6, n)"}},
                    {.inputs = {"(3, 8)"}, .attrs = "indices_or_sections=[2, 5], axis=1", .symbolic = {"(n, 8)"}},
                    {.inputs = {"(3, 8)"}, .attrs = "indices_or_sections=[3], axis=-1", .symbolic = {}},
                    {.inputs = {"(4, 3)"}, .attrs = "indices_or_sections=1"}},
       .rejects = {{{"(6, 4)"}, "indices_or_sections=2, axis=2", "C1"},
                   {{"(6, 4)"}, "indices_or_sections=4", "C2"},
                   {{"(6, 4)"}, "indices_or_sections=[4, 2]", "C3"},
                   {{"(6, 4)"}, "indices_or_sections=[7]", "C3"}}},
      "SplitAttrs");
}

}  // namespace relay::ops
