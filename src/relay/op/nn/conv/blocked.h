// Operators on arrays with blocked layouts, such as "NCHW4c", "OIHW4i4o", "NCHW4n4c", in terms of plain ones. The
// arrays are converted to the plain layouts, the plain operator is applied, and its result is converted to the
// requested layout (layout_transform).
#pragma once

#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/shape/layout.h"

namespace relay::op::nn {

template <class A>
AttrValues values_of(const A& a) {
  AttrValues values;
  std::apply(
      [&](const auto&... field) {
        (values.push_back({field.name, ir::AttrConvert<std::decay_t<decltype(a.*field.member)>>::to(a.*field.member)}),
         ...);
      },
      A::fields);
  return values;
}

// Lets an operator have such layouts. `inputs` are the attributes with the layouts of its inputs; the first also
// applies to the result if out_layout is empty or null (no such attribute). `out_layout` is plain or blocked.
template <class A, class Base>
void allow_blocks(OpSpec<A>& spec, std::vector<std::string Base::*> inputs, std::string Base::* out_layout) {
  auto wanted = [=](const A& a) { return !out_layout || (a.*out_layout).empty() ? a.*inputs[0] : a.*out_layout; };
  auto any = [=](const A& a) {
    return is_blocked(wanted(a)) ||
           std::any_of(inputs.begin(), inputs.end(), [&](std::string Base::* layout) { return is_blocked(a.*layout); });
  };
  auto plain = [=](A a) {
    const std::string out = wanted(a);
    for (std::string Base::* layout : inputs) a.*layout = without_blocks(a.*layout);
    if (out_layout) a.*out_layout = without_blocks(out);
    return a;
  };
  auto change = [](const std::string& from, const std::string& to) {
    return *attributes(*find("layout_transform"), {{"src_layout", from}, {"dst_layout", to}});
  };
  auto type_of = [=](const Type& type, const std::string& from, const std::string& to) -> Result<Type> {
    return from == to ? Result<Type>(type) : find("layout_transform")->infer(change(from, to), {type});
  };
  spec.infer = [=, own = spec.infer](const A& a, const Types& in) -> Result<Type> {
    if (!any(a)) return own(a, in);
    const A b = plain(a);
    Types types;
    for (size_t k = 0; k < in.size(); ++k) {
      RELAY_ASSIGN(Type type, type_of(in[k], a.*inputs[k], b.*inputs[k]));
      types.push_back(std::move(type));
    }
    RELAY_ASSIGN(Type out, own(b, types));
    return type_of(out, wanted(b), wanted(a));
  };
  auto moved = [=](const te::Tensor& t, const std::string& from, const std::string& to) {
    if (from == to) return t;
    const Type out = *type_of(ir::tensor_type(t->shape, t->dtype), from, to);
    return find("layout_transform")->compute(change(from, to), {t}, out)[0];
  };
  spec.compute = [=, own = spec.compute](const A& a, const te::Tensors& in, const Type& out) -> te::Tensors {
    if (!any(a)) return own(a, in, out);
    const A b = plain(a);
    te::Tensors arrays;
    for (size_t k = 0; k < in.size(); ++k) arrays.push_back(moved(in[k], a.*inputs[k], b.*inputs[k]));
    const Type type = *type_of(out, wanted(a), wanted(b));
    return {moved(own(b, arrays, type)[0], wanted(b), wanted(a))};
  };
  spec.definition = [=, own = spec.definition, name = spec.name](const A& a, const ir::Exprs& in) -> ir::Expr {
    if (!any(a)) return own ? own(a, in) : nullptr;
    const A b = plain(a);
    auto in_layout = [](const ir::Expr& e, const std::string& from, const std::string& to) {
      return from == to ? e : grad::call("layout_transform", {e}, {{"src_layout", from}, {"dst_layout", to}});
    };
    ir::Exprs arrays;
    for (size_t k = 0; k < in.size(); ++k) arrays.push_back(in_layout(in[k], a.*inputs[k], b.*inputs[k]));
    return in_layout(grad::call(name, arrays, values_of(b)), wanted(b), wanted(a));
  };
}

// For an operator with one input and the attributes layout and out_layout.
template <class A>
void allow_blocks(OpSpec<A>& spec) {
  allow_blocks<A, A>(spec, {&A::layout}, &A::out_layout);
}

}  // namespace relay::op::nn
