// Long short-term memory in integers: data and outputs of 8 bits, the cell of 16 bits in units of a power of two, gates
// in units of 2^-12 before sigmoid and tanh and of 2^-15 after them.
#include <cmath>

#include "relay/frontend/tflite/fixed_point16.h"
#include "relay/frontend/tflite/lstm.h"
#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

using ir::Expr;
using ir::Exprs;

namespace {

class IntegerLstm {
 public:
  IntegerLstm(Convert& c, const LstmPlaces& places) : c_(c), p_(places), outside_(c) {}

  Expr run(const Expr& x, bool reverse) {
    if (!read()) return nullptr;
    const Exprs state{c_.state(p_.state), c_.state(p_.cell)};
    if (!state[0] || !state[1]) return nullptr;
    std::optional<Sequence> all =
        through_steps(c_, {x}, state, reverse, outside_,
                      [&](const Exprs& now, const Exprs& before) { return step(now[0], before[0], before[1]); });
    if (!all) return nullptr;
    c_.set_state(p_.state, all->state[0]), c_.set_state(p_.cell, all->state[1]);
    return all->outputs;
  }

 private:
  static constexpr size_t in = 0, forget = 1, cell = 2, out = 3;

  bool read() {
    for (size_t i : {p_.norm, p_.norm + 1, p_.extra})
      if (c_.has(i)) return c_.unsupported("layer norms or a second input in integers"), false;
    const std::optional<Scale> x = scale_of(c_, c_.input_entry(0));
    if (!x || !c_.has(p_.state) || !c_.has(p_.cell)) return c_.bad("a state is absent"), false;
    const std::optional<Scale> h = scale_of(c_, c_.input_entry(p_.state)), kept = scale_of(c_, c_.input_entry(p_.cell));
    if (!h || !kept) return false;
    x_ = *x, h_ = *h, cell_ = *kept;
    int power = 0;
    if (std::frexp(cell_.scale, &power) != 0.5F || power > -4 || power < -14 || x_.dtype != DType::int8() ||
        h_.dtype != DType::int8() || cell_.dtype != DType::int16())
      return c_.unsupported("data of {}, a state of {} and a cell of {} in units of {}", x_.dtype.str(), h_.dtype.str(),
                            cell_.dtype.str(), cell_.scale),
             false;
    cell_power_ = power - 1;
    if (c_.node.intermediates.size() < 5) return c_.bad("the range of its hidden state is absent"), false;
    const std::optional<Scale> hidden = scale_of(c_, c_.intermediate_entry(4));
    if (!hidden) return false;
    hidden_ = *hidden;
    if (c_.has(p_.projection)) hidden_.zero = -hidden_.zero;  // as LiteRT's kernel takes it
    for (size_t i = c_.has(p_.x) ? in : forget; i <= out; ++i)
      if (!c_.has(p_.x + i) || !c_.has(p_.h + i) || !c_.has(p_.bias + i))
        return c_.bad("a weight or bias of gate {} of 4 is absent", i), false;
    sigmoid_ = table([](int64_t v) { return fixed_point::sigmoid16(v); });
    tanh_ = table([](int64_t v) { return fixed_point::tanh16(v, 3); });
    tanh_of_cell_ = table([&](int64_t v) { return fixed_point::tanh16(v, 15 + cell_power_); });
    return !c_.failed();
  }

  Expr table(function_ref<int64_t(int64_t)> f) {
    Tensor values = Tensor::empty({65536}, DType::int32());
    for (int64_t i = 0; i < 65536; ++i) values.set_int(i, f(i - 32768));
    return c_.constant(std::move(values));
  }
  Expr look_up(const Expr& table, const Expr& e) {
    return c_.emit("take", {table, c_.add(c_.cast(e, DType::int32()), zero_point(c_, 32768))},
                   {{"axis", int64_t{0}}, {"mode", "clip"}});
  }
  Expr fitting(const Expr& e) { return c_.emit("clip", {e}, {{"a_min", -32768.0}, {"a_max", 32767.0}}); }

  // The sum of products of e and the weight in input i, rounded to units of `scale`.
  Expr product(const Expr& e, const Scale& of, size_t i, float scale, const Expr& bias, int64_t zero, DType to) {
    const std::optional<Scale> weight = scale_of(c_, c_.input_entry(i));
    if (!weight) return nullptr;
    if (weight->dtype != DType::int8() || weight->zero != 0)
      return c_.unsupported("a weight of {} with zero point {}", weight->dtype.str(), weight->zero);
    const Expr one = c_.scalar(1, DType::float32());
    Expr sum =
        c_.emit("qnn.dense", {e, outside_.hold(c_.input(i)), one, zero_point(c_, of.zero), one, zero_point(c_, 0)});
    if (bias) sum = c_.add(sum, bias);
    return scaled(c_, sum, {static_cast<double>(weight->scale * of.scale / scale)}, Rounds::Twice, zero, to);
  }
  Expr input_if(size_t i) { return c_.has(i) ? outside_.hold(c_.input(i)) : Expr(); }

  // Before its function, in units of 2^-12.
  Expr gate(size_t which, size_t peephole, const Expr& x, const Expr& h, const Expr& before) {
    const float unit = std::ldexp(1.0F, -12);
    const Expr from_x = product(x, x_, p_.x + which, unit, input_if(p_.bias + which), 0, DType::int16());
    const Expr from_h = product(h, h_, p_.h + which, unit, nullptr, 0, DType::int32());
    Expr sum = fitting(c_.add(from_h, c_.cast(from_x, DType::int32())));
    if (peephole >= c_.inputs() || !c_.has(peephole)) return sum;
    const std::optional<Scale> weight = scale_of(c_, c_.input_entry(peephole));
    if (!weight) return nullptr;
    const Expr terms = c_.multiply(before, c_.cast(input_if(peephole), DType::int32()));
    const double factor = std::ldexp(static_cast<double>(weight->scale), cell_power_ + 12);
    return fitting(c_.add(sum, scaled(c_, terms, {factor}, Rounds::Twice, 0, DType::int32())));
  }

  // The states after a step.
  Exprs step(const Expr& x, const Expr& h, const Expr& kept) {
    const Expr before = c_.cast(kept, DType::int32());
    const Expr keep = look_up(sigmoid_, gate(forget, p_.peephole + 1, x, h, before));
    const Expr fresh = look_up(tanh_, gate(cell, SIZE_MAX, x, h, before));
    const Expr take = c_.has(p_.x) ? look_up(sigmoid_, gate(in, p_.peephole, x, h, before))
                                   : c_.subtract(zero_point(c_, 32767), keep);
    Expr next = fitting(c_.add(quotient(c_, c_.multiply(keep, before), 15, 0, DType::int32()),
                               quotient(c_, c_.multiply(take, fresh), 30 + cell_power_, 0, DType::int32())));
    if (const float clip = static_cast<float>(c_.real("cell_clip", 0)); clip > 0) {
      const double most = std::trunc(std::min(clip / cell_.scale, 32767.0F));
      next = c_.emit("clip", {next}, {{"a_min", -most}, {"a_max", most}});
    }
    const Expr shown = look_up(sigmoid_, gate(out, p_.peephole + 2, x, h, next));
    const double factor = static_cast<double>(std::ldexp(1.0F, -15) / hidden_.scale * std::ldexp(1.0F, -15));
    Expr y = scaled(c_, c_.multiply(shown, look_up(tanh_of_cell_, next)), {factor}, Rounds::Twice, hidden_.zero,
                    DType::int8());
    if (c_.has(p_.projection)) {
      y = product(y, hidden_, p_.projection, h_.scale, input_if(p_.projection_bias), h_.zero, DType::int8());
      if (const float clip = static_cast<float>(c_.real("proj_clip", 0)); clip > 0) {
        const double most = std::trunc(std::min(clip / h_.scale, 127.0F));
        y = c_.emit("clip", {y}, {{"a_min", -most}, {"a_max", most}});
      }
    }
    return {y, c_.cast(next, DType::int16())};
  }

  Convert& c_;
  const LstmPlaces p_;
  Captures outside_;
  Scale x_{}, h_{}, cell_{}, hidden_{};
  int cell_power_ = 0;
  Expr sigmoid_, tanh_, tanh_of_cell_;
};

}  // namespace

Expr integer_lstm(Convert& c, const Expr& x, const LstmPlaces& places, bool reverse) {
  return IntegerLstm(c, places).run(x, reverse);
}

}  // namespace relay::tflite
