#include "relay/op/nn/recurrent/recurrent.h"

#include <charconv>

namespace relay::op::nn {

namespace {

struct KnownActivation {
  const char* name;
  size_t parameters;
  double alpha, beta;  // defaults
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

// Splits at commas outside of parentheses.
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

// The parts of input `tuple`, with their names in messages.
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

std::string names_of_weights(const RecurrentAttrs& attrs) {
  std::string out = "weight, recurrence";
  if (attrs.bias) out += ", bias, recurrent bias";
  if (attrs.peephole) out += ", peephole";
  if (attrs.projection) out += ", projection";
  if (attrs.directions() == 2) out += "; the same of the reverse direction";
  return out + (attrs.layers > 1 ? format("; the same of {} layers", attrs.layers) : "");
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
    return max(x, zero) + unary(UnaryOp::Log1p, unary(UnaryOp::Exp, unary(UnaryOp::Neg, unary(UnaryOp::Abs, x))));
  if (a.name == "leaky_relu") return select(lt(x, zero), alpha * x, x);
  if (a.name == "elu") return select(lt(x, zero), alpha * unary(UnaryOp::Expm1, min(x, zero)), x);
  if (a.name == "thresholded_relu") return select(lt(alpha, x), x, zero);
  if (a.name == "affine") return alpha * x + beta;
  if (a.name == "scaled_tanh") return alpha * unary(UnaryOp::Tanh, beta * x);
  RELAY_CHECK(a.name == "hard_sigmoid", "activation {} has no expression", a.name);
  return max(min(alpha * x + beta, one), zero);
}

Result<std::vector<Activation>> activations_of(const RecurrentAttrs& attrs) {
  const size_t each = attrs.default_activations.size(), all = each * static_cast<size_t>(attrs.directions());
  std::vector<std::string> names = attrs.activations.empty() ? attrs.default_activations : split(attrs.activations);
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

Result<Type> infer_recurrent(const RecurrentAttrs& attrs, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  if (attrs.direction != "forward" && attrs.direction != "reverse" && attrs.direction != "bidirectional")
    return constraint("C1", "direction is \"{}\", not \"forward\", \"reverse\" or \"bidirectional\"", attrs.direction);
  constexpr int64_t most_layers = 128;  // networks have fewer than ten; the choice of a state is a chain of selects
  if (attrs.layers < 1 || attrs.layers > most_layers)
    return constraint("C9", "layers is {}, not from 1 to {}", attrs.layers, most_layers);
  if (Result<std::vector<Activation>> a = activations_of(attrs); !a) return a.errors();
  if (!data->dtype.is_float()) return constraint("C3", "data must be floats, but is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_rank("C4", data, 3, "data"));
  const int64_t rows = attrs.layers * attrs.directions();  // of the states
  RELAY_ASSIGN(std::vector<const TensorType*> weights,
               parts_of("C5", in, 1, "weights", attrs.weights() * static_cast<size_t>(rows), names_of_weights(attrs)));
  RELAY_RETURN_IF_ERROR(expect_rank("C6", weights[1], 2, "recurrence"));
  const Dim output = weights[1]->shape[1];
  Dim hidden = output;
  if (attrs.projection) {
    RELAY_RETURN_IF_ERROR(expect_rank("C6", weights[attrs.weights() - 1], 2, "projection"));
    hidden = weights[attrs.weights() - 1]->shape[1];
  }
  const Dim all_gates = scalar::simplify(dim(attrs.gates) * hidden);
  const Dim of_a_layer = scalar::simplify(dim(attrs.directions()) * output);
  std::vector<Part> parts;
  size_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    auto add = [&](const char* name, Dims expected) { parts.push_back({weights[next++], name, std::move(expected)}); };
    add("weight", {all_gates, row < attrs.directions() ? data->shape[2] : of_a_layer}),
        add("recurrence", {all_gates, output});
    if (attrs.bias) add("bias", {all_gates}), add("recurrent bias", {all_gates});
    if (attrs.peephole) add("peephole", {scalar::simplify(dim(3) * hidden)});
    if (attrs.projection) add("projection", {output, hidden});
  }
  RELAY_RETURN_IF_ERROR(check_parts("C6", parts, data->dtype));
  RELAY_ASSIGN(
      std::vector<const TensorType*> states,
      parts_of("C7", in, 2, "state", attrs.states + attrs.lengths,
               std::string(attrs.states == 2 ? "hidden, cell" : "hidden") + (attrs.lengths ? ", lengths" : "")));
  const Dims last = {dim(rows), data->shape[1], output};
  parts = {{states[0], "hidden", last}};
  if (attrs.states == 2) parts.push_back({states[1], "cell", {dim(rows), data->shape[1], hidden}});
  RELAY_RETURN_IF_ERROR(check_parts("C7", parts, data->dtype));
  if (attrs.lengths) {
    const TensorType* lengths = states[attrs.states];
    if (!lengths->dtype.is_int()) return constraint("C8", "lengths must be integers, but is {}", lengths->dtype.str());
    if (lengths->shape.size() != 1 || !agree(lengths->shape[0], data->shape[1]))
      return constraint("C8", "lengths must have shape ({},), one per sequence of data, but has {}",
                        scalar::str(data->shape[1]), text(lengths->shape));
  }
  Types results = {ir::tensor_type({data->shape[0], dim(attrs.directions()), data->shape[1], output}, data->dtype)};
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

// The input's contribution to the gates in all steps, with the biases.
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

// The steps of one direction: returns all values of each state.
te::Tensors run_steps(Direction& d, const te::Tensor& data, const te::Tensors& initial, const te::Tensor& lengths,
                      bool reverse, const RecurrentCell& cell) {
  const Dim& steps = data->shape[0];
  return te::recurrence("steps", steps, initial, [&](const Expr& t, const te::Tensors& before) {
    d.time = reverse ? steps - 1 - t : t;
    te::Tensors after = cell(d, before);
    for (size_t s = 0; s < after.size(); ++s) {
      if (lengths) {  // after the end of a sequence its state is kept
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

// All layers of a call, one after the other.
class Layers {
 public:
  Layers(const RecurrentAttrs& attrs, const te::Tensors& in, bool bias_in_input, const RecurrentCell& cell)
      : attrs_(attrs), in_(in), bias_in_input_(bias_in_input), cell_(cell), activations_(*activations_of(attrs)) {
    if (attrs.lengths) lengths_ = in[first_state() + attrs.states];
  }

  te::Tensors run(const Type& out) {
    const TupleType* types = as<TupleType>(out);
    const size_t directions = static_cast<size_t>(attrs_.directions()), layers = static_cast<size_t>(attrs_.layers);
    for (size_t layer = 0; layer < layers; ++layer) {
      const te::Tensor data = layer == 0 ? in_[0] : concatenated_directions(layer - 1);
      for (size_t k = 0; k < directions; ++k) values_.push_back(run_direction(layer * directions + k, k, data));
    }
    te::Tensors results = {te::compute("output", shape_of(types->fields[0]), [&](const Exprs& i) {
      return chosen(i[1], directions, [&](size_t k) { return output(layers - 1, k, i[0], i[2], i[3]); });
    })};
    for (size_t s = 0; s < attrs_.states; ++s)
      results.push_back(
          te::compute(s == 0 ? "last_hidden" : "last_cell", shape_of(types->fields[s + 1]), [&](const Exprs& i) {
            return chosen(i[0], values_.size(), [&](size_t row) { return (*values_[row][s])({steps(), i[1], i[2]}); });
          }));
    return results;
  }

 private:
  const Dim& steps() const { return in_[0]->shape[0]; }
  size_t first_state() const { return 1 + attrs_.weights() * static_cast<size_t>(attrs_.layers * attrs_.directions()); }
  bool is_reverse(size_t direction) const { return attrs_.direction == "reverse" || direction == 1; }

  // The value of number `which`, of `count` values.
  static Expr chosen(const Expr& which, size_t count, const std::function<Expr(size_t k)>& value) {
    Expr result = value(count - 1);
    for (size_t k = count - 1; k-- > 0;)
      result = select(eq(which, dim(static_cast<int64_t>(k))), value(k), std::move(result));
    return result;
  }

  // Row `row` of the states: returns all values of each state.
  te::Tensors run_direction(size_t row, size_t direction, const te::Tensor& data) {
    Direction d;
    size_t next = 1 + row * attrs_.weights();
    d.weight = in_[next++], d.recurrence = in_[next++];
    if (attrs_.bias) d.bias = in_[next++], d.recurrent_bias = in_[next++];
    if (attrs_.peephole) d.peephole = in_[next++];
    if (attrs_.projection) d.projection = in_[next++];
    d.activations = activations_.data() + direction * attrs_.default_activations.size();
    d.clip = attrs_.clip;
    d.rows = {data->shape[1], attrs_.projection ? d.projection->shape[1] : d.recurrence->shape[1]};
    d.from_input = input_product(d, data, bias_in_input_);
    te::Tensors initial;
    for (size_t s = 0; s < attrs_.states; ++s) {
      const te::Tensor& all = in_[first_state() + s];
      initial.push_back(te::compute(s == 0 ? "hidden" : "cell", {all->shape[1], all->shape[2]}, [&](const Exprs& i) {
        return (*all)({dim(static_cast<int64_t>(row)), i[0], i[1]});
      }));
    }
    return run_steps(d, data, initial, lengths_, is_reverse(direction), cell_);
  }

  // The output of a direction of a layer in step t; a step of the reverse direction counts from the end.
  Expr output(size_t layer, size_t k, const Expr& t, const Expr& n, const Expr& unit) const {
    const te::Tensor& hidden = values_[layer * static_cast<size_t>(attrs_.directions()) + k][0];
    const Expr value = (*hidden)({is_reverse(k) ? steps() - t : t + 1, n, unit});
    return lengths_ ? select(lt(t, cast(DType::int64(), (*lengths_)({n}))), value, number(0, value->dtype)) : value;
  }

  // (T, N, D * P), as the next layer reads it.
  te::Tensor concatenated_directions(size_t layer) const {
    const Dim &units = values_[layer * static_cast<size_t>(attrs_.directions())][0]->shape[2], &rows = in_[0]->shape[1];
    return te::compute("layer", {steps(), rows, scalar::simplify(dim(attrs_.directions()) * units)},
                       [&](const Exprs& i) {
                         const Expr first = output(layer, 0, i[0], i[1], i[2]);
                         if (attrs_.directions() == 1) return first;
                         return select(lt(i[2], units), first, output(layer, 1, i[0], i[1], i[2] - units));
                       });
  }

  const RecurrentAttrs& attrs_;
  const te::Tensors& in_;
  const bool bias_in_input_;
  const RecurrentCell& cell_;
  const std::vector<Activation> activations_;
  te::Tensor lengths_;
  std::vector<te::Tensors> values_;  // by row of the states
};

}  // namespace

te::Tensors compute_recurrent(const RecurrentAttrs& attrs, const te::Tensors& in, const Type& out, bool bias_in_input,
                              const RecurrentCell& cell) {
  return Layers(attrs, in, bias_in_input, cell).run(out);
}

}  // namespace relay::op::nn
