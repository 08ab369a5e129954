#include "relay/frontend/common/steps.h"

#include "relay/scalar/simplify.h"

namespace relay::frontend {

using ir::Expr;
using ir::Exprs;
using ir::Type;
using ir::Types;

Expr Captures::hold(const Expr& e) {
  if (!e || ir::as<ir::Constant>(e) || ir::as<ir::Var>(e)) return e;
  for (const auto& [variable, value] : held_)
    if (value == e) return variable;
  held_.emplace_back(c_.variable("outside", e->type), e);
  return held_.back().first;
}

Value Captures::hold(const Value& value) {
  Value inside = value;
  if (value.expr) inside.expr = hold(value.expr);
  if (value.list) {
    Values elements;
    for (const Value& v : *value.list) elements.push_back(hold(v));
    inside.list = std::make_shared<const Values>(std::move(elements));
  }
  return inside;
}

Expr Captures::wrap(Expr e) const {
  for (size_t i = held_.size(); i-- > 0;) e = c_.let(held_[i].first, held_[i].second, e);
  return e;
}

Expr element_at(Conversion& c, const Expr& e, const Expr& index, int64_t axis) {
  if (c.extent(e, axis) != 0) return c.emit("take", {e, index}, {{"axis", axis}});
  ir::Dims shape = c.shape(e);
  shape.erase(shape.begin() + axis);
  return c.broadcast_to(c.scalar(0, c.dtype(e)), shape);
}

namespace {

Type int64_scalar() { return ir::tensor_type({}, DType::int64()); }
Type bool_scalar() { return ir::tensor_type({}, DType::boolean()); }

// A loop under construction.
class Loop {
 public:
  Loop(Conversion& c, const Steps& steps, Captures& outside) : c_(c), steps_(steps), outside_(outside) {}

  std::optional<Stepped> run(MakeStep make) {
    if (!find_types(make)) return std::nullopt;
    if (!steps_.count && !step_.condition)
      return steps_.condition ? c_.bad("it never ends: no step changes its condition, and it has no count")
                              : c_.bad("it never ends: it has neither a count nor a condition");
    count_ = outside_.hold(steps_.count ? steps_.count : c_.integer_scalar(INT64_MAX));
    Expr all = step_.outputs.empty() ? in_turn() : by_halves();
    if (!all || c_.failed()) return std::nullopt;
    all = outside_.wrap(all);
    Stepped result;
    for (size_t i = 0; i < types_.size(); ++i) result.state.push_back(c_.get(all, static_cast<int64_t>(i)));
    for (size_t i = 0; i < step_.outputs.size(); ++i)
      result.outputs.push_back(sized(c_.get(all, static_cast<int64_t>(types_.size() + i))));
    return c_.failed() ? std::nullopt : std::optional(result);
  }

 private:
  // Converts the step with less and less specific types of the state, until its results have the same types.
  bool find_types(MakeStep make) {
    for (const Expr& e : steps_.state) {
      if (!e) return false;
      types_.push_back(e->type);
    }
    for (bool wider = true; wider;) {
      index_ = c_.variable("step", int64_scalar());
      variables_.clear();
      for (const Type& type : types_) variables_.push_back(c_.variable("state", type));
      std::optional<Step> step = make(index_, Exprs(variables_.begin(), variables_.end()));
      if (!step || c_.failed()) return false;
      step_ = *std::move(step);
      wider = false;
      for (const Exprs* list : {&step_.state, &step_.outputs})
        for (const Expr& e : *list)
          if (!e) return false;
      for (size_t i = 0; i < types_.size(); ++i) {
        Type both = common_type(types_[i], step_.state[i]->type);
        if (!both) {
          c_.unsupported(
              "value {} is {} at first and {} after a step; the number of axes and the element type must not change", i,
              ir::str(types_[i]), ir::str(step_.state[i]->type));
          return false;
        }
        if (!equal(both, types_[i])) types_[i] = both, wider = true;
      }
    }
    return true;
  }

  Exprs state() const { return Exprs(variables_.begin(), variables_.end()); }

  Expr call(const ir::VarRef& function, Exprs args, const Type& result) {
    for (const Expr& a : args)
      if (!a) return nullptr;
    Expr made = ir::call(function, std::move(args), {}, c_.place());
    made->type = result;
    return made;
  }

  // let %loop = fn (params) { body }; %loop(args)
  Expr start(const ir::VarRef& loop, std::vector<ir::VarRef> params, const Expr& body, const Type& result, Exprs args) {
    if (!body) return nullptr;
    Type type = loop->type;
    ir::FunctionRef function = ir::function(std::move(params), body, result, {}, {}, c_.place());
    function->type = type;
    return c_.let(loop, function, call(loop, std::move(args), result));
  }

  ir::VarRef loop_variable(const std::vector<ir::VarRef>& params, const Type& result) {
    Types inputs;
    for (const ir::VarRef& p : params) inputs.push_back(p->type);
    return c_.variable("loop", ir::func_type(std::move(inputs), result));
  }

  Expr next(const Expr& index, const Expr& by) { return c_.add(index, by); }

  Expr in_turn() {
    const Type result = ir::tuple_type(types_);
    std::vector<ir::VarRef> params{index_};
    ir::VarRef goes_on = c_.variable("goes_on", bool_scalar());
    if (step_.condition) params.push_back(goes_on);
    params.insert(params.end(), variables_.begin(), variables_.end());
    ir::VarRef loop = loop_variable(params, result);
    Expr test = steps_.count ? c_.emit("less", {index_, count_}) : Expr();
    if (step_.condition) test = test ? c_.emit("logical_and", {test, goes_on}) : Expr(goes_on);
    auto arguments = [&](const Expr& index, const Expr& condition, const Exprs& values) {
      Exprs args{index};
      if (step_.condition) args.push_back(condition ? condition : c_.scalar(1, DType::boolean()));
      args.insert(args.end(), values.begin(), values.end());
      return args;
    };
    Expr recursive_call =
        call(loop, arguments(next(index_, c_.integer_scalar(1)), step_.condition, step_.state), result);
    if (!test || !recursive_call) return nullptr;
    Expr body = c_.choose(test, recursive_call, c_.tuple(state()));
    Expr first = start(loop, params, body, result, arguments(c_.integer_scalar(0), steps_.condition, steps_.state));
    if (step_.condition || !steps_.condition || !first) return first;
    fields_ = types_;
    return c_.choose(steps_.condition, first, widened_tuple(steps_.state));  // without any step
  }

  Expr widened_tuple(const Exprs& values) {
    Exprs all;
    for (size_t i = 0; i < values.size(); ++i) all.push_back(c_.widened(values[i], fields_[i]));
    return c_.tuple(all);
  }

  // fn (%step, %steps, state..) -> (state.., outputs.., goes on): for one step, or for the first half and the second.
  Expr by_halves() {
    for (const Expr& y : step_.outputs) {
      ir::Dims shape = c_.shape(y);
      shape.insert(shape.begin(), scalar::any_dim());
      fields_.push_back(ir::tensor_type(shape, c_.dtype(y)));
    }
    fields_.insert(fields_.begin(), types_.begin(), types_.end());
    const size_t values = fields_.size();
    if (step_.condition) fields_.push_back(bool_scalar());
    const Type result = ir::tuple_type(fields_);
    ir::VarRef steps = c_.variable("steps", int64_scalar());
    std::vector<ir::VarRef> params{index_, steps};
    params.insert(params.end(), variables_.begin(), variables_.end());
    ir::VarRef loop = loop_variable(params, result);

    Exprs one = step_.state;
    for (const Expr& y : step_.outputs)
      one.push_back(c_.emit("expand_dims", {y}, {{"axis", int64_t{0}}, {"num_newaxis", int64_t{1}}}));
    if (step_.condition) one.push_back(step_.condition);
    Expr body = c_.choose(c_.emit("less_equal", {steps, c_.integer_scalar(1)}), widened_tuple(one),
                          halves(loop, steps, result, values));
    if (!body) return nullptr;
    Exprs args{c_.integer_scalar(0), count_};
    args.insert(args.end(), steps_.state.begin(), steps_.state.end());
    Expr all = start(loop, params, body, result, args);
    Expr test = is_positive() ? steps_.condition : c_.emit("less", {c_.integer_scalar(0), count_});
    if (steps_.condition && !is_positive()) test = c_.emit("logical_and", {test, steps_.condition});
    if (!test || !all) return all;
    Exprs none = steps_.state;
    for (const Expr& y : step_.outputs) none.push_back(empty(y));
    if (step_.condition) none.push_back(c_.scalar(0, DType::boolean()));
    return c_.choose(test, all, widened_tuple(none));
  }

  Expr halves(const ir::VarRef& loop, const ir::VarRef& steps, const Type& result, size_t values) {
    ir::VarRef half = c_.variable("half", int64_scalar());
    Expr half_value = c_.emit("floor_divide", {steps, c_.integer_scalar(2)});
    Exprs args{index_, half};
    for (const Expr& s : state()) args.push_back(s);
    ir::VarRef first = c_.variable("first", result), second = c_.variable("second", result);
    Exprs later{next(index_, half), c_.subtract(steps, half)};
    for (size_t i = 0; i < types_.size(); ++i) later.push_back(c_.get(first, static_cast<int64_t>(i)));
    Exprs both;
    for (size_t i = 0; i < fields_.size(); ++i) {
      Expr of_second = c_.get(second, static_cast<int64_t>(i));
      if (i < types_.size() || i >= values)
        both.push_back(of_second);
      else
        both.push_back(c_.emit("concatenate", {c_.tuple({c_.get(first, static_cast<int64_t>(i)), of_second})},
                               {{"axis", int64_t{0}}}));
    }
    Expr halves = c_.let(second, call(loop, later, result), c_.tuple(both));
    if (!halves) return nullptr;
    if (step_.condition) halves = c_.choose(c_.get(first, static_cast<int64_t>(values)), halves, first);
    return c_.let(half, half_value, c_.let(first, call(loop, args, result), halves));
  }

  bool is_positive() const {
    const ir::Constant* count = ir::as<ir::Constant>(count_);
    return count && count->value.int_at(0) > 0;
  }

  // No outputs at all; their unknown sizes are 0.
  Expr empty(const Expr& y) {
    ir::Dims shape{scalar::imm(0)};
    for (const ir::Dim& d : c_.shape(y)) shape.push_back(is_any(d) ? scalar::imm(0) : d);
    return c_.broadcast_to(c_.scalar(0, c_.dtype(y)), shape);
  }

  // The number of steps is the extent, unless the condition may end them early.
  Expr sized(const Expr& y) {
    if (step_.condition || steps_.condition || !steps_.size || is_any(*steps_.size)) return y;
    ir::Dims shape = c_.shape(y);
    shape[0] = *steps_.size;
    for (const ir::Dim& d : shape)
      if (is_any(d)) return y;
    if (is_int(shape[0])) return c_.reshape(y, shape);
    // A named size: slices that many rows, which are all.
    Expr ones = c_.broadcast_to(c_.integer_scalar(1), {shape[0]});
    Expr rows = c_.emit("cumsum", {ones}, {{"axis", int64_t{0}}, {"exclusive", true}});
    return c_.emit("take", {y, rows}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  }

  Conversion& c_;
  const Steps& steps_;
  Captures& outside_;
  Types types_, fields_;  // of the state; of a call's results
  ir::VarRef index_;
  std::vector<ir::VarRef> variables_;
  Step step_;
  Expr count_;
};

}  // namespace

std::optional<Stepped> repeat(Conversion& c, const Steps& steps, Captures& outside, MakeStep make) {
  return Loop(c, steps, outside).run(make);
}

}  // namespace relay::frontend
