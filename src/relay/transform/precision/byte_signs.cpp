#include "relay/transform/precision/byte_signs.h"

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int64_t sign_bit = 128;  // of a byte

bool is_byte(DType t) { return t == DType::uint8() || t == DType::int8(); }

// Bytes that change their type, and what is added to them.
struct Change {
  size_t reads = 0;  // by dequantisations
  DType dtype;
  int64_t added() const { return dtype == DType::uint8() ? sign_bit : -sign_bit; }
};

// A zero point that is one constant for all bytes.
std::optional<int64_t> known_zero(const Expr& e) {
  const Constant* c = as<Constant>(e);
  return c && c->value.elements() == 1 ? std::optional(static_cast<int64_t>(c->value.at(0))) : std::nullopt;
}

// The type that these bytes get; unset if they stay.
std::optional<DType> new_type(const Expr& e, std::optional<DType> dtype) {
  const Call* call = call_of(e, "qnn.quantize");
  const TensorType* type = call ? as<TensorType>(e->type) : nullptr;
  if (!type || !is_byte(type->dtype)) return std::nullopt;
  const std::optional<int64_t> zero = known_zero(call->args[2]);
  if (!zero || !attribute<bool>(*call, "round_first", false)) return std::nullopt;
  const Change other{.dtype = type->dtype == DType::int8() ? DType::uint8() : DType::int8()};
  const bool changes = dtype ? *dtype == other.dtype : *zero + other.added() == 0;
  return changes ? std::optional(other.dtype) : std::nullopt;
}

// The nodes that depend on variables. Others are weights, whose sign the instructions state too.
NodeSet computed_nodes(const Expr& root) {
  NodeSet out;
  visit(root, [&](const Expr& e) {
    bool computed = e->kind == ExprKind::Var || e->kind == ExprKind::GlobalVar;
    for_each_child(e, [&](const Expr& child) { computed |= out.contains(child.get()); });
    if (computed) out.insert(e.get());
  });
  return out;
}

// The zero point as a byte of the type, if it is one.
Expr moved_zero(const Expr& zero_point, int64_t added, DType dtype) {
  const Constant& c = *as<Constant>(zero_point);
  const int64_t value = *known_zero(zero_point) + added;
  const bool fits = dtype == DType::uint8() ? 0 <= value && value <= UINT8_MAX : INT8_MIN <= value && value <= INT8_MAX;
  const DType own = fits ? dtype : DType::int32();
  if (added == 0 && c.value.dtype() == own) return zero_point;
  Expr made = constant(Tensor::full(c.value.shape(), own, static_cast<double>(value)), zero_point->span);
  made->type = tensor_type(as<TensorType>(zero_point->type)->shape, own);
  return made;
}

}  // namespace

FunctionRef with_byte_signs(const FunctionRef& f, std::optional<DType> dtype) {
  const NodeSet computed = computed_nodes(f->body);
  NodeMap<Change> changes;
  visit(f->body, [&](const Expr& e) {
    const Call* reader = call_of(e, "qnn.dequantize");
    if (!reader || !known_zero(reader->args[2]) || !computed.contains(reader->args[0].get())) return;
    if (const std::optional<DType> other = new_type(reader->args[0], dtype)) {
      Change& change = changes[reader->args[0].get()];
      ++change.reads, change.dtype = *other;
    }
  });
  const auto uses = use_counts(f->body);
  auto change_of = [&](const Expr& bytes) {
    const Change* change = changes.find(bytes.get());
    return change && change->reads == uses.at(bytes.get()) ? change : nullptr;
  };
  return with_body(f, rewrite(f->body, [&](const Expr& before, const Expr& now) {
                     const bool quantises = call_of(before, "qnn.quantize") != nullptr;
                     if (!quantises && !call_of(before, "qnn.dequantize")) return now;
                     const Call& call = *as<Call>(now);
                     const Expr& bytes = quantises ? before : as<Call>(before)->args[0];
                     const Change* change = change_of(bytes);
                     const DType type = change ? change->dtype : as<TensorType>(bytes->type)->dtype;
                     if (!is_byte(type) || !known_zero(call.args[2])) return now;
                     Exprs args = call.args;
                     args[2] = moved_zero(args[2], change ? change->added() : 0, type);
                     if (!change && args[2] == call.args[2]) return now;
                     const Attrs attrs =
                         change && quantises ? with_attributes(call, {{"out_dtype", type}}) : call.attrs;
                     return try_call(call.callee, std::move(args), attrs, now->span);
                   }));
}

}  // namespace relay::transform
