#include "relay/op/nn/recurrent.h"

#include <charconv>

namespace relay::op::nn {

namespace {

struct KnownActivation {
  const char* name;
  size_t parameters;
  double alpha, beta;  // unless they are given
};
constexpr KnownActivation known_activations[] = {
    {"sigmoid", 0, 0, 0},
    {"tanh", 0, 0, 0},
    {"relu", 0, 0, 0},
    {"softsign", 0, 0, 0},
    {"softplus", 0, 0, 0},
    {"leaky_relu", 1, 0.01, 0},
    {"elu", 1, 1, 0},
    {"thresholded_relu", 1, 1, 0},
    {"affine", 2, 1, 0},
    {"scaled_tanh", 2, 1, 1},
    {"hard_sigmoid", 2, 0.2, 0.5},
};

std::string trimmed(std::string_view s) {
  const size_t begin = s.find_first_not_of(' '), end = s.find_last_not_of(' ');
  return begin == std::string_view::npos ? std::string() : std::string(s.substr(begin, end - begin + 1));
}

// At commas outside of parentheses.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size()) depth += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    if (k < text.size() && (text[k] != ',' || depth != 0)) continue;
    out.push_back(trimmed(text.substr(begin, k - begin)));
    begin = k + 1;
  }
  return out;
}

Result<Activation> parse_activation(const std::string& text) {
  const size_t open = text.find('(');
  const std::string name = trimmed(text.substr(0, open));
  const KnownActivation* known = std::find_if(std::begin(known_activations), std::end(known_activations),
                                              [&](const KnownActivation& k) { return name == k.name; });
  if (known == std::end(known_activations)) {
    Diagnostic d = constraint("C2", "there is no activation '{}'", name);
    d.help = "the activations are ";
    for (const KnownActivation& k : known_activations)
      d.help += (&k == known_activations ? "" : ", ") + std::string(k.name);
    return d;
  }
  Activation a{name, known->alpha, known->beta};
  if (open == std::string::npos) return a;
  const std::vector<std::string> values =
      split(std::string_view(text).substr(open + 1, text.size() - open - (text.back() == ')' ? 2 : 1)));
  bool fine = text.back() == ')' && values.size() <= known->parameters;
  double* to[] = {&a.alpha, &a.beta};
  for (size_t k = 0; k < values.size() && fine; ++k) {
    const char *begin = values[k].data(), *end = begin + values[k].size();
    const std::from_chars_result read = std::from_chars(begin, end, *to[k]);
    fine = read.ec == std::errc() && read.ptr == end;
  }
  if (fine) return a;
  return constraint("C2", "activation '{}' must be {} with at most {} numbers in parentheses", text, name,
                    known->parameters);
}

// Input `tuple` in its parts, with what each is called in messages.
struct Part {
  const TensorType* type;
  std::string name;
  Dims expected;
};

Status check_parts(const char* number, const std::vector<Part>& parts, DType dtype) {
  for (const Part& p : parts) {
    if (p.type->dtype != dtype)
      return constraint("C3", "data is {}, but {} is {}", dtype.str(), p.name, p.type->dtype.str());
    if (p.type->shape.size() != p.expected.size() || !agree(p.type->shape, p.expected))
      return constraint(number, "{} must have shape {}, but has {}", p.name, text(p.expected), text(p.type->shape));
  }
  return ok();
}

Result<std::vector<const TensorType*>> parts_of(const char* number, const Types& in, size_t i, const char* name,
                                                size_t expected, const std::string& what) {
  RELAY_ASSIGN(std::vector<const TensorType*> parts, tuple_input(in, i, name));
  if (parts.size() == expected) return parts;
  return constraint(number, "{} must have {} tensors ({}), but has {}", name, expected, what, parts.size());
}

std::string names_of_weights(const RecurrentForm& f) {
  std::string out = "weight, recurrence";
  if (f.bias) out += ", bias, recurrent bias";
  if (f.peephole) out += ", peephole";
  if (f.projection) out += ", projection";
  return out + (f.directions() == 2 ? "; the same of the reverse direction" : "");
}

}  // namespace

Expr activate(const Activation& a, const Expr& x) {
  const DType t = x->dtype;
  const Expr zero = number(0, t), one = number(1, t), alpha = number(a.alpha, t), beta = number(a.beta, t);
  if (a.name == "sigmoid") return sigmoid(x);
  if (a.name == "tanh") return unary(UnaryOp::Tanh, x);
  if (a.name == "relu") return max(x, zero);
  if (a.name == "softsign") return divide(x, one + unary(UnaryOp::Abs, x));
  if (a.name == "softplus")  // log(1 + exp(x)) without an overflow
    return max(x, zero) + unary(UnaryOp::Log, one + unary(UnaryOp::Exp, unary(UnaryOp::Neg, unary(UnaryOp::Abs, x))));
  if (a.name == "leaky_relu") return select(lt(x, zero), alpha * x, x);
  if (a.name == "elu") return select(lt(x, zero), alpha * (unary(UnaryOp::Exp, min(x, zero)) - one), x);
  if (a.name == "thresholded_relu") return select(lt(alpha, x), x, zero);
  if (a.name == "affine") return alpha * x + beta;
  if (a.name == "scaled_tanh") return alpha * unary(UnaryOp::Tanh, beta * x);
  RELAY_CHECK(a.name == "hard_sigmoid", "activation {} has no expression", a.name);
  return max(min(alpha * x + beta, one), zero);
}

Result<std::vector<Activation>> activations_of(const RecurrentForm& f) {
  const size_t each = f.default_activations.size(), all = each * static_cast<size_t>(f.directions());
  std::vector<std::string> names = f.activations.empty() ? f.default_activations : split(f.activations);
  if (names.size() == each)  // the same for all directions
    for (size_t k = 0; k + each < all; ++k) names.push_back(std::string(names[k]));
  if (names.size() != all)
    return constraint("C2", "activations names {} functions, but each direction has {}", names.size(), each);
  std::vector<Activation> out;
  for (const std::string& name : names) {
    RELAY_ASSIGN(Activation a, parse_activation(name));
    out.push_back(std::move(a));
  }
  return out;
}

Result<Type> infer_recurrent(const RecurrentForm& f, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  if (f.direction != "forward" && f.direction != "reverse" && f.direction != "bidirectional")
    return constraint("C1", "direction is \"{}\", not \"forward\", \"reverse\" or \"bidirectional\"", f.direction);
  if (Result<std::vector<Activation>> a = activations_of(f); !a) return a.errors();
  if (!data->dtype.is_float()) return constraint("C3", "data must be floats, but is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_rank("C4", data, 3, "data"));
  const size_t directions = static_cast<size_t>(f.directions());
  RELAY_ASSIGN(std::vector<const TensorType*> weights,
               parts_of("C5", in, 1, "weights", f.weights() * directions, names_of_weights(f)));
  RELAY_RETURN_IF_ERROR(expect_rank("C6", weights[1], 2, "recurrence"));
  const Dim output = weights[1]->shape[1];
  Dim hidden = output;
  if (f.projection) {
    RELAY_RETURN_IF_ERROR(expect_rank("C6", weights[f.weights() - 1], 2, "projection"));
    hidden = weights[f.weights() - 1]->shape[1];
  }
  const Dim all_gates = scalar::simplify(dim(f.gates) * hidden);
  std::vector<Part> parts;
  for (size_t d = 0, next = 0; d < directions; ++d) {
    auto add = [&](const char* name, Dims expected) { parts.push_back({weights[next++], name, std::move(expected)}); };
    add("weight", {all_gates, data->shape[2]}), add("recurrence", {all_gates, output});
    if (f.bias) add("bias", {all_gates}), add("recurrent bias", {all_gates});
    if (f.peephole) add("peephole", {scalar::simplify(dim(3) * hidden)});
    if (f.projection) add("projection", {output, hidden});
  }
  RELAY_RETURN_IF_ERROR(check_parts("C6", parts, data->dtype));
  RELAY_ASSIGN(std::vector<const TensorType*> states,
               parts_of("C7", in, 2, "state", f.states + f.lengths,
                        std::string(f.states == 2 ? "hidden, cell" : "hidden") + (f.lengths ? ", lengths" : "")));
  const Dims last = {dim(f.directions()), data->shape[1], output};
  parts = {{states[0], "hidden", last}};
  if (f.states == 2) parts.push_back({states[1], "cell", {dim(f.directions()), data->shape[1], hidden}});
  RELAY_RETURN_IF_ERROR(check_parts("C7", parts, data->dtype));
  if (f.lengths) {
    const TensorType* lengths = states[f.states];
    if (!lengths->dtype.is_int()) return constraint("C8", "lengths must be integers, but is {}", lengths->dtype.str());
    if (lengths->shape.size() != 1 || !agree(lengths->shape[0], data->shape[1]))
      return constraint("C8", "lengths must have shape ({},), one a sequence of data, but has {}",
                        scalar::str(data->shape[1]), text(lengths->shape));
  }
  Types results = {ir::tensor_type({data->shape[0], dim(f.directions()), data->shape[1], output}, data->dtype)};
  for (const Part& p : parts) results.push_back(ir::tensor_type(p.expected, data->dtype));
  return ir::tuple_type(std::move(results));
}

Expr Direction::activated(size_t which, const Expr& x) const {
  if (clip <= 0) return activate(activations[which], x);
  return activate(activations[which], max(min(x, number(clip, x->dtype)), number(-clip, x->dtype)));
}

te::Tensor Direction::product(const te::Tensor& state, int64_t first, int64_t count) const {
  const DType dtype = accumulator(state->dtype);
  const Exprs shape = {rows[0], scalar::simplify(dim(count) * hidden())};
  return te::reduce("product", shape, {state->shape[1]}, Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    return cast(dtype, (*state)({i[0], k[0]})) * cast(dtype, (*recurrence)({dim(first) * hidden() + i[1], k[0]}));
  });
}

namespace {

// What the input adds to the gates in all steps, with the biases.
te::Tensor input_product(const Direction& d, const te::Tensor& data, bool with_recurrent_bias) {
  const DType dtype = accumulator(data->dtype);
  const te::Tensor product =
      te::reduce("input_product", {data->shape[0], data->shape[1], d.weight->shape[0]}, {data->shape[2]}, Combiner::Sum,
                 [&](const Exprs& i, const Exprs& k) {
                   return cast(dtype, (*data)({i[0], i[1], k[0]})) * cast(dtype, (*d.weight)({i[2], k[0]}));
                 });
  if (!d.bias) return product;
  return elementwise("from_input", product, [&](const Exprs& i) {
    Expr x = (*product)(i) + cast(dtype, (*d.bias)({i[2]}));
    return with_recurrent_bias ? x + cast(dtype, (*d.recurrent_bias)({i[2]})) : x;
  });
}

// The steps of one direction: for each state all of its values.
te::Tensors run_direction(Direction& d, const te::Tensor& data, const te::Tensors& initial, const te::Tensor& lengths,
                          bool reverse, const RecurrentCell& cell) {
  const Dim& steps = data->shape[0];
  return te::recurrence("steps", steps, initial, [&](const Expr& t, const te::Tensors& before) {
    d.time = reverse ? steps - 1 - t : t;
    te::Tensors after = cell(d, before);
    for (size_t s = 0; s < after.size(); ++s) {
      if (lengths) {  // behind the end of a sequence its state stays
        const te::Tensor next = after[s];
        after[s] = elementwise(before[s]->name.c_str(), before[s], [&](const Exprs& i) {
          const Expr within = lt(d.time, cast(DType::int64(), (*lengths)({i[0]})));
          return select(within, cast(before[s]->dtype, (*next)(i)), (*before[s])(i));
        });
      }
      after[s] = converted(after[s], before[s]->dtype);
    }
    return after;
  });
}

}  // namespace

te::Tensors compute_recurrent(const RecurrentForm& f, const te::Tensors& in, const Type& out, bool bias_in_input,
                              const RecurrentCell& cell) {
  const te::Tensor& data = in[0];
  const size_t directions = static_cast<size_t>(f.directions()), first_state = 1 + f.weights() * directions;
  const te::Tensor lengths = f.lengths ? in[first_state + f.states] : te::Tensor();
  const std::vector<Activation> activations = *activations_of(f);
  const Dim& steps = data->shape[0];
  std::vector<te::Tensors> values;  // by direction
  for (size_t k = 0; k < directions; ++k) {
    Direction d;
    size_t next = 1 + k * f.weights();
    d.weight = in[next++], d.recurrence = in[next++];
    if (f.bias) d.bias = in[next++], d.recurrent_bias = in[next++];
    if (f.peephole) d.peephole = in[next++];
    if (f.projection) d.projection = in[next++];
    d.activations = activations.data() + k * f.default_activations.size(), d.clip = f.clip;
    d.rows = {data->shape[1], f.projection ? d.projection->shape[1] : d.recurrence->shape[1]};
    d.from_input = input_product(d, data, bias_in_input);
    te::Tensors initial;
    for (size_t s = 0; s < f.states; ++s) {
      const te::Tensor& all = in[first_state + s];
      initial.push_back(te::compute(s == 0 ? "hidden" : "cell", {all->shape[1], all->shape[2]}, [&](const Exprs& i) {
        return (*all)({dim(static_cast<int64_t>(k)), i[0], i[1]});
      }));
    }
    values.push_back(run_direction(d, data, initial, lengths, f.direction == "reverse" || k == 1, cell));
  }
  const TupleType* types = as<TupleType>(out);
  // Of direction k, in which a step of the reverse one is that much further from the end.
  auto by_direction = [&](const Expr& which, const std::function<Expr(size_t k)>& value) {
    return directions == 1 ? value(0) : select(eq(which, dim(0)), value(0), value(1));
  };
  te::Tensors results;
  results.push_back(te::compute("output", shape_of(types->fields[0]), [&](const Exprs& i) {
    Expr value = by_direction(i[1], [&](size_t k) {
      const bool reverse = f.direction == "reverse" || k == 1;
      return (*values[k][0])({reverse ? steps - i[0] : i[0] + 1, i[2], i[3]});
    });
    if (lengths) value = select(lt(i[0], cast(DType::int64(), (*lengths)({i[2]}))), value, number(0, value->dtype));
    return value;
  }));
  for (size_t s = 0; s < f.states; ++s)
    results.push_back(
        te::compute(s == 0 ? "last_hidden" : "last_cell", shape_of(types->fields[s + 1]), [&](const Exprs& i) {
          return by_direction(i[0], [&](size_t k) { return (*values[k][s])({steps, i[1], i[2]}); });
        }));
  return results;
}

}  // namespace relay::op::nn
