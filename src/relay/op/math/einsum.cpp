// einsum: a sum of products, written with a letter for each axis: "ij,jk->ik" is a product of matrices
//   out[letters behind ->] = sum over all other letters of the product of the inputs, each at its letters
//
// A letter that occurs twice in an input selects its diagonal. Without "->" the result has the letters that occur once,
// in alphabetical order.
#include <algorithm>
#include <cctype>
#include <map>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace einsum_cpp {
namespace {

struct EinsumAttrs {
  std::string equation;
  static constexpr auto fields =
      std::tuple{required_field("equation", &EinsumAttrs::equation, "The axes as letters, such as \"ij,jk->ik\".")};
};

struct Equation {
  std::vector<std::string> terms;
  std::string out;
};

// (C1) The equation consists of letters, commas between inputs, and optionally an arrow.
Result<Equation> parse(const std::string& text) {
  Equation e;
  std::string letters;
  for (char c : text)
    if (c != ' ') letters += c;
  const size_t arrow = letters.find("->");
  std::string front = letters.substr(0, arrow);
  e.out = arrow == std::string::npos ? "" : letters.substr(arrow + 2);
  e.terms.emplace_back();
  bool good = true;
  for (char c : front)
    if (c == ',')
      e.terms.emplace_back();
    else
      e.terms.back() += c, good = good && std::isalpha(static_cast<unsigned char>(c));
  for (char c : e.out)
    good = good && std::isalpha(static_cast<unsigned char>(c)) && front.find(c) != std::string::npos &&
           std::count(e.out.begin(), e.out.end(), c) == 1;
  if (!good)
    return constraint("C1",
                      "equation \"{}\" must have the form \"ij,jk->ik\", and each letter of the result must occur once "
                      "after -> and also before it",
                      text);
  if (arrow == std::string::npos) {
    for (char c : front)
      if (c != ',' && std::count(front.begin(), front.end(), c) == 1) e.out += c;
    std::sort(e.out.begin(), e.out.end());
  }
  return e;
}

Result<Type> infer(const EinsumAttrs& a, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> data, tuple_input(in, 0, "data"));
  RELAY_ASSIGN(Equation e, parse(a.equation));
  // (C2) There is a term for each input, with a letter for each axis.
  if (e.terms.size() != data.size())
    return constraint("C2", "equation \"{}\" has {}, but there are {}", a.equation,
                      plural(static_cast<int64_t>(e.terms.size()), "term", "terms"),
                      plural(static_cast<int64_t>(data.size()), "input", "inputs"));
  std::map<char, Dim> extents;
  for (size_t k = 0; k < data.size(); ++k) {
    if (e.terms[k].size() != data[k]->shape.size())
      return constraint("C2", "\"{}\" in equation \"{}\" does not fit input {} of shape {}", e.terms[k], a.equation, k,
                        text(data[k]->shape));
    // (C3) All are numbers of one type.
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C3", data[0], "the first", data[k], "another"));
    if (data[k]->dtype.is_bool()) return constraint("C3", "einsum needs numbers, but an input is bool");
    for (size_t d = 0; d < e.terms[k].size(); ++d) {
      // (C4) A letter has one extent.
      auto [found, is_new] = extents.emplace(e.terms[k][d], data[k]->shape[d]);
      if (!is_new && !agree(found->second, data[k]->shape[d]))
        return constraint("C4", "{} is {} and {} in equation \"{}\"", std::string(1, e.terms[k][d]),
                          scalar::str(found->second), scalar::str(data[k]->shape[d]), a.equation);
      found->second = meet(found->second, data[k]->shape[d]);
    }
  }
  Dims out;
  for (char c : e.out) out.push_back(extents[c]);
  return ir::tensor_type(std::move(out), data[0]->dtype);
}

te::Tensors compute(const EinsumAttrs& a, const te::Tensors& in, const Type& out) {
  const Equation e = *parse(a.equation);
  const DType wide = accumulator(dtype_of(out));
  std::string summed;
  Exprs extents;
  for (size_t k = 0; k < in.size(); ++k)
    for (size_t d = 0; d < e.terms[k].size(); ++d)
      if (const char c = e.terms[k][d]; (e.out + summed).find(c) == std::string::npos)
        summed += c, extents.push_back(in[k]->shape[d]);
  auto product_at = [&](const Exprs& i, const Exprs& r) {
    Expr value;
    for (size_t k = 0; k < in.size(); ++k) {
      Exprs at;
      for (char c : e.terms[k]) {
        const size_t place = e.out.find(c);
        at.push_back(place != std::string::npos ? i[place] : r[summed.find(c)]);
      }
      Expr factor = cast(wide, (*in[k])(at));
      value = value ? value * factor : factor;
    }
    return value;
  };
  if (extents.empty())
    return {
        te::compute("einsum", shape_of(out), [&](const Exprs& i) { return cast(dtype_of(out), product_at(i, {})); })};
  return {converted(te::reduce("einsum", shape_of(out), extents, Combiner::Sum, product_at), dtype_of(out))};
}

// `gradient` on the diagonal along two axes of `like`, and 0 elsewhere.
ir::Expr on_diagonal(const ir::Expr& gradient, const ir::Expr& like, size_t first, size_t second) {
  auto places = [&](size_t axis) {
    const int64_t d = static_cast<int64_t>(axis);
    return grad::along(grad::places(like, d), d, grad::rank(like));
  };
  return grad::call("where", {grad::call("equal", {places(first), places(second)}), gradient, grad::zeros_like(like)});
}

// The gradient of an input: the einsum of dy with the other inputs that has the input's letters, repeated along letters
// that only it has, and placed on the diagonal for repeated letters.
ir::Expr gradient_of(const Equation& e, size_t k, const ir::Exprs& data, const ir::Expr& dy) {
  std::string front = e.out, letters;
  ir::Exprs inputs = {dy};
  for (size_t other = 0; other < e.terms.size(); ++other)
    if (other != k) front += "," + e.terms[other], inputs.push_back(data[other]);
  Ints alone;
  std::vector<std::pair<size_t, size_t>> diagonals;
  const std::string& term = e.terms[k];
  for (size_t d = 0; d < term.size(); ++d) {
    const size_t first = term.find(term[d]);
    if (first < d) diagonals.emplace_back(first, d);
    if (first < d || front.find(term[d]) == std::string::npos)
      alone.push_back(static_cast<int64_t>(d));
    else
      letters += term[d];
  }
  ir::Expr gradient = grad::call("einsum", {ir::tuple(std::move(inputs))}, {{"equation", front + "->" + letters}});
  if (!alone.empty())
    gradient = grad::call("broadcast_to_like", {grad::with_axes(std::move(gradient), alone, false), data[k]});
  for (const auto& [first, second] : diagonals) gradient = on_diagonal(gradient, data[k], first, second);
  return gradient;
}

ir::Exprs gradient(const EinsumAttrs& a, const Adjoint& of) {
  const Equation e = *parse(a.equation);
  const ir::Types& types = ir::as<TupleType>(of.inputs[0]->type)->fields;
  ir::Exprs data, gradients;
  for (size_t k = 0; k < e.terms.size(); ++k) {
    data.push_back(ir::get(of.inputs[0], static_cast<int64_t>(k)));
    data.back()->type = types[k];
  }
  for (size_t k = 0; k < e.terms.size(); ++k) gradients.push_back(gradient_of(e, k, data, of.gradient));
  return {ir::tuple(std::move(gradients))};
}

}  // namespace
}  // namespace einsum_cpp

OpDef einsum() {
  using namespace einsum_cpp;
  return define<EinsumAttrs>(
      {.name = "einsum",
       .doc = "A sum of products in Einstein notation, with a letter for each axis.",
       .inputs = {{"data", "a tuple of tensors", true}},
       // Fusion of einsum: injective in the reference; it is a sum of products.
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "torch.einsum(equation, *data)",
       .examples = {{.inputs = {"[(3, 5), (5, 4)]"},
                     .attrs = "equation=\"ij,jk->ik\"",
                     .symbolic = {"[(n, 5), (5, m)]"}},
                    {.inputs = {"[(2, 3, 5, 4), (2, 3, 6, 4)]"},
                     .attrs = "equation=\"bhqd,bhkd->bhqk\"",
                     .symbolic = {"[(b, 3, q, 4), (b, 3, k, 4)]"}},
                    {.inputs = {"[(2, 3), (3, 4), (4, 5)]"}, .attrs = "equation=\"ab, bc, cd\"", .ulps = 16},
                    {.inputs = {"[(4, 4)]"}, .attrs = "equation=\"ii->i\""},
                    {.inputs = {"[(4, 4)]"}, .attrs = "equation=\"ii\""},
                    {.inputs = {"[(3, 2, 3, 3), (3, 4)]"}, .attrs = "equation=\"iaii,ib->ab\""},
                    {.inputs = {"[(3, 2, 4)]"}, .attrs = "equation=\"abc->cab\""}},
       .rejects = {{{"[(3, 5), (5, 4)]"}, "equation=\"i1,jk\"", "C1"},
                   {{"[(3, 5), (5, 4)]"}, "equation=\"ij,jk->il\"", "C1"},
                   {{"[(3, 5), (5, 4)]"}, "equation=\"ij->ij\"", "C2"},
                   {{"[(3, 5), (5, 4)]"}, "equation=\"ij,j->i\"", "C2"},
                   {{"[(3, 5), (5, 4) int32]"}, "equation=\"ij,jk->ik\"", "C3"},
                   {{"[(3, 5), (6, 4)]"}, "equation=\"ij,jk->ik\"", "C4"}}},
      "EinsumAttrs");
}

}  // namespace relay::ops
