// Sums of products of four bytes each (scalar::Kind::Dot), which schedules have for processors with SMLAD, or of 16 for
// those with vectors (MVE). Other processors compute the same by ordinary products.
//
//   acc_0 = relay_dot_i8_i8(&x[4 * k], &w[8 * k], acc_0);
#include "relay/codegen/c/c_kernel.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using scalar::Expr;
using scalar::Kind;

// A pointer to numbers that are adjacent in memory; unset for others.
std::optional<std::string> CKernelWriter::run_of_bytes(std::span<const Expr> numbers) {
  Expr first;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Expr& e = numbers[i];
    if (e->kind != Kind::Load || e->source != numbers[0]->source || e->dtype.is_float() || e->dtype.bits != 8)
      return {};
    const loop::Buffer& buffer = static_cast<const loop::Buffer&>(*e->source);
    if (tiles_.contains(&buffer)) return {};
    const Expr flat = flat_index_of(buffer, e->args);
    if (i == 0)
      first = flat;
    else if (!scalar::is_int(scalar::simplify(flat - first), static_cast<int64_t>(i)))
      return {};
  }
  return "&" + element(static_cast<const loop::Buffer&>(*numbers[0]->source), numbers[0]->args);
}

CKernelWriter::Text CKernelWriter::dot(const Expr& e, const Expr& sum) {
  const size_t n = e->args.size() / 2;
  const std::span<const Expr> args(e->args);
  if (e->dtype == DType::int32() && form_.dialect == &c99 && helpers_.has_dot(args[0]->dtype, args[n]->dtype, n))
    if (const auto left = run_of_bytes(args.first(n)), right = run_of_bytes(args.last(n)); left && right)
      return call(helpers_.dot(args[0]->dtype, args[n]->dtype, n),
                  {Text{*left, Prefix, 1}, Text{*right, Prefix, 1}, sum ? value(sum) : Text{"0"}});
  const Expr products = sum ? sum + scalar::without_dot(e) : scalar::without_dot(e);
  kept_.push_back(products);
  return value(products);
}

CKernelWriter::Text CKernelWriter::dot_added(const Expr& e) {
  if (e->binary != scalar::BinaryOp::Add) return {};
  for (size_t i : {0, 1})
    if (e->args[i]->kind == Kind::Dot) return dot(e->args[i], e->args[1 - i]);
  return {};
}

}  // namespace relay::codegen
