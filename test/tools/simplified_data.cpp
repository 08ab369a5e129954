// relay_simplified_data: random conditions on int64 data and what scalar::simplify makes of them, in the language of SMT
// solvers, for test/python/passes/test_rule_proofs.py.
//
//   relay_simplified_data 200
//   (= (bvslt (bvsub a #x0000000000000001) b) (bvslt (bvsub a #x0000000000000001) b))
#include <cstdio>
#include <cstdlib>
#include <random>

#include "relay/base/diagnostics.h"
#include "relay/base/text.h"
#include "relay/scalar/simplify.h"

using namespace relay;
using namespace relay::scalar;

namespace {

std::mt19937_64 engine(1);
int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }

Expr constant() {
  const int64_t ends[] = {INT64_MIN, INT64_MAX, int64_t{1} << 62, 0};
  return imm(static_cast<int64_t>(static_cast<uint64_t>(ends[in(0, 3)]) + static_cast<uint64_t>(in(-3, 3))));
}

Expr condition(const Exprs& vars, int depth);

Expr integer(const Exprs& vars, int depth) {
  if (depth == 0) return in(0, 3) ? vars[static_cast<size_t>(in(0, 2))] : constant();
  auto next = [&] { return integer(vars, depth - 1); };
  static const BinaryOp ops[] = {BinaryOp::Min, BinaryOp::Max, BinaryOp::BitAnd, BinaryOp::BitXor};
  switch (in(0, 7)) {
    case 0: return as_data(unary(UnaryOp::Neg, next()));
    case 1: return next() * in(-3, 3);  // solvers are slow at large factors
    case 2:
    case 3: return as_data(next() + next());
    case 4: return as_data(next() - next());
    case 5: return as_data(select(condition(vars, depth - 1), next(), next()));
    default: return as_data(binary(ops[in(0, 3)], next(), next()));
  }
}

Expr condition(const Exprs& vars, int depth) {
  static const BinaryOp ops[] = {BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne};
  const Expr made = binary(ops[in(0, 3)], integer(vars, depth), integer(vars, depth));
  return in(0, 4) ? made : unary(UnaryOp::Not, made);
}

std::string smt(const Expr& e) {
  auto call = [&](const char* op) {
    std::string out = format("({}", op);
    for (const Expr& a : e->args) out += " " + smt(a);
    return out + ")";
  };
  auto extreme = [&](const char* less) {
    const std::string a = smt(e->args[0]), b = smt(e->args[1]);
    return format("(ite ({} {} {}) {} {})", less, a, b, a, b);
  };
  switch (e->kind) {
    case Kind::Int:
      return e->dtype.is_bool() ? e->ivalue ? "true" : "false" : format("#x{:016x}", static_cast<uint64_t>(e->ivalue));
    case Kind::Var: return e->name;
    case Kind::Select: return call("ite");
    case Kind::Cast: return smt(e->args[0]);  // as_data, as_index
    case Kind::Unary: return call(e->unary == UnaryOp::Not ? "not" : "bvneg");
    default: break;
  }
  RELAY_CHECK(e->kind == Kind::Binary, "{}", str(e));
  switch (e->binary) {
    case BinaryOp::Add: return call("bvadd");
    case BinaryOp::Sub: return call("bvsub");
    case BinaryOp::Mul: return call("bvmul");
    case BinaryOp::Min: return extreme("bvslt");
    case BinaryOp::Max: return extreme("bvsgt");
    case BinaryOp::BitAnd: return call("bvand");
    case BinaryOp::BitXor: return call("bvxor");
    case BinaryOp::Lt: return call("bvslt");
    case BinaryOp::Le: return call("bvsle");
    case BinaryOp::Eq: return call("=");
    case BinaryOp::Ne: return call("distinct");
    default: RELAY_CHECK(false, "{}", str(e));
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  const Exprs vars = {data_var("a", DType::int64()), data_var("b", DType::int64()), data_var("c", DType::int64())};
  for (int64_t i = argc > 1 ? std::atoll(argv[1]) : 100; i > 0; --i) {
    const Expr before = condition(vars, static_cast<int>(in(0, 2)));
    std::printf("(= %s %s)\n", smt(before).c_str(), smt(simplify(before)).c_str());
  }
}
