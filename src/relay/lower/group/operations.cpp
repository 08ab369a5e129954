#include "relay/lower/group/operations.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "relay/lower/group/cost.h"
#include "relay/scalar/math.h"

namespace relay::lower {

using scalar::Expr;

namespace {

struct Operations {
  double plain = 0, divisions = 0, roots = 0;
};
// Elements of at most 32 bits, and wider ones.
enum Width : size_t { Narrow, Wide };
using ByWidth = std::array<Operations, 2>;
Width width_of(DType t) { return t.bits > DType::float32().bits ? Wide : Narrow; }

ByWidth of_nodes(const Expr& e) {
  ByWidth all;
  std::unordered_set<const scalar::Node*> computed;  // on elements, unlike indices and conditions on them
  scalar::visit(e, [&](const Expr& n) {
    using scalar::Kind;
    if (n->kind == Kind::Load) computed.insert(n.get());
    if (n->kind == Kind::Load ||
        std::none_of(n->args.begin(), n->args.end(), [&](const Expr& a) { return computed.count(a.get()); }))
      return;
    computed.insert(n.get());
    Operations& out = all[width_of(n->dtype)];
    if (n->kind == Kind::Select) {
      out.plain += computed.count(n->args[0].get()) ? 1 : 0;
    } else if (n->kind == Kind::Binary) {
      using scalar::BinaryOp;
      const BinaryOp op = n->binary;
      // A comparison is counted with its select, and several bit operations are one instruction.
      if (n->dtype.is_bool() || op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor) return;
      const bool divides = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod ||
                           op == BinaryOp::TruncDiv || op == BinaryOp::TruncMod;
      (divides ? out.divisions : out.plain) += 1;
    } else if (n->kind == Kind::Dot) {
      out.plain += 1;  // with the addition of its sum as long as a multiply-add
    } else if (n->kind == Kind::Unary && n->dtype.is_float() && n->unary != scalar::UnaryOp::Abs &&
               n->unary != scalar::UnaryOp::Rounded) {
      (n->unary == scalar::UnaryOp::Sqrt ? out.roots : out.plain) += 1;
    }
  });
  return all;
}

// The operations of exp's polynomial.
double operations_of_exp(DType type) {
  const Expr x = (*te::placeholder("x", {scalar::imm(1)}, type))({scalar::imm(0)});
  return of_nodes(scalar::expand(scalar::UnaryOp::Exp, x))[width_of(type)].plain;
}

double count(const Expr& e, const TargetDesc& t) {
  static const double of_exp[] = {operations_of_exp(DType::float32()), operations_of_exp(DType::float64())};
  const ByWidth written = of_nodes(e), all = of_nodes(scalar::expand_math(e));
  double additions = 0;
  for (const Width width : {Narrow, Wide}) {
    const OperationCycles& cycles = width == Wide ? t.float64_cycles : t.float32_cycles;
    const Operations& done = all[width];
    const double in_functions = std::max(0.0, done.plain - written[width].plain);
    // Operations in polynomials, scaled so that exp takes the time of the machine's description.
    const double weight = additions_in(t, cycles.exp) / of_exp[width];
    // A vector has half as many lanes if a narrow element is computed in double, as for sine.
    const double vectors = width > width_of(e->dtype) ? 2 : 1;
    additions +=
        vectors * (done.plain + in_functions * (weight - 1) + done.divisions * additions_in(t, cycles.division) +
                   done.roots * additions_in(t, cycles.root));
  }
  return additions;
}

}  // namespace

double count_operations(const Expr& body, const TargetDesc& target) {
  double most = 0;
  Expr e = body;
  for (; e->kind == scalar::Kind::Select; e = e->args[2]) most = std::max(most, count(e->args[1], target));
  return std::max(most, count(e, target));
}

double count_operations(const te::Tensors& stages, const TargetDesc& target,
                        function_ref<double(const te::TensorNode&)> elements) {
  double all = 0;
  for (const te::Tensor& t : stages)
    if (const double own = t->body ? elements(*t) : 0; own > 0) all += own * count_operations(t->body, target);
  return all;
}

}  // namespace relay::lower
