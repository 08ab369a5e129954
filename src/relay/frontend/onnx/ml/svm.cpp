// Support vector machines. Classifiers follow LIBSVM (Chang and Lin, "LIBSVM: a library for support vector machines"):
// one decision for each pair of classes, votes for the label, and probabilities coupled from those of the pairs (Wu,
// Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling").
#include <algorithm>
#include <numeric>

#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;
using ir::Exprs;
using ir::Ints;

namespace {

Expr real(Convert& c, double value) { return c.scalar(value, DType::float32()); }
Expr reals(Convert& c, const std::vector<double>& values, const Shape& shape) {
  return floats(c, values, shape, DType::float32());
}

// The kernel of each row of x (N, features) with each of `count` vectors: (N, count).
Expr kernel_of(Convert& c, const Expr& x, const std::vector<double>& vectors, int64_t count) {
  const int64_t features = static_cast<int64_t>(vectors.size()) / count;
  if (static_cast<int64_t>(vectors.size()) != features * count || features < 1)
    return c.bad("support_vectors has {} numbers for {} vectors", vectors.size(), count);
  const std::vector<double> params = float_values(c, "kernel_params");
  const double gamma = params.size() > 0 ? params[0] : 0, shift = params.size() > 1 ? params[1] : 0,
               degree = params.size() > 2 ? params[2] : 0;
  const Expr all = reals(c, vectors, {count, features});
  const std::string kind = c.text("kernel_type", "LINEAR");
  if (kind == "RBF") {
    // Differences first: squares of lengths would lose small differences of two vectors.
    const Expr difference = c.subtract(c.expand(x, 1), all);
    return c.emit("exp", {c.multiply(c.reduce("sum", c.multiply(difference, difference), {2}, false), -gamma)});
  }
  const Expr dot = c.emit("nn.dense", {x, all});
  if (kind == "LINEAR") return dot;
  const Expr scaled = c.add(c.multiply(dot, gamma), shift);
  if (kind == "POLY") return c.emit("power", {scaled, real(c, degree)});
  if (kind == "SIGMOID") return c.emit("tanh", {scaled});
  return c.bad("kernel_type is '{}', not LINEAR, POLY, RBF or SIGMOID", kind);
}

}  // namespace

// The sum of coefficients times kernels of x and the support vectors, plus rho; without vectors a linear model.
Values SVMRegressor(Convert& c) {
  Expr x = samples(c);
  const std::vector<double> weights = float_values(c, "coefficients"), rho = float_values(c, "rho");
  if (!x) return {};
  x = c.cast(x, DType::float32());
  const int64_t supports = c.integer("n_supports", 0), count = static_cast<int64_t>(weights.size());
  if (weights.empty() || rho.empty()) return c.bad("coefficients or rho are missing");
  if (supports < 0 || (supports > 0 && count != supports))
    return c.bad("n_supports is {}, for {} coefficients", supports, count);
  const Expr kernel = supports > 0 ? kernel_of(c, x, float_values(c, "support_vectors"), supports) : x;
  Expr scores = c.add(c.emit("nn.dense", {kernel, reals(c, weights, {1, count})}), rho[0]);
  if (c.integer("one_class", 0))
    return {c.emit("where", {c.emit("greater", {scores, real(c, 0)}), real(c, 1), real(c, -1)})};
  return {transformed(c, scores)};
}

namespace {

struct Machine {
  int64_t classes = 0, vectors = 0;
  Ints counts;  // of support vectors, by class
  std::vector<double> coefficients, rho, a, b;

  int64_t pairs() const { return classes * (classes - 1) / 2; }
};

// Beyond this, a step of the coupling, which is written out class by class, would be too large.
constexpr int64_t max_coupled = 64;

std::optional<Machine> read_machine(Convert& c) {
  Machine m{.classes = class_count(c),
            .counts = c.ints("vectors_per_class"),
            .coefficients = float_values(c, "coefficients"),
            .rho = float_values(c, "rho"),
            .a = float_values(c, "prob_a"),
            .b = float_values(c, "prob_b")};
  for (int64_t count : m.counts) {
    if (count < 0 || count > INT32_MAX) return c.bad("vectors_per_class has the number {}", count);
    m.vectors += count;
  }
  if (m.classes < 1 || m.classes > INT16_MAX) return c.bad("it has {} class labels", m.classes);
  if (m.rho.empty() || m.coefficients.empty()) return c.bad("coefficients or rho are missing");
  if (m.a.size() != m.b.size()) return c.bad("prob_a and prob_b have {} and {} numbers", m.a.size(), m.b.size());
  if (m.vectors == 0) return m;
  if (static_cast<int64_t>(m.counts.size()) != m.classes)
    return c.bad("vectors_per_class has {} numbers for {} classes", m.counts.size(), m.classes);
  const size_t pairs = static_cast<size_t>(m.pairs());
  if (m.classes < 2 || m.rho.size() != pairs || (!m.a.empty() && m.a.size() != pairs))
    return c.bad("rho and prob_a have {} and {} numbers for {} pairs of classes", m.rho.size(), m.a.size(), pairs);
  if (static_cast<int64_t>(m.coefficients.size()) != (m.classes - 1) * m.vectors)
    return c.bad("it has {} coefficients for {} classes and {} support vectors", m.coefficients.size(), m.classes,
                 m.vectors);
  return m;
}

// The decisions of all pairs of classes, (N, pairs): a decision above 0 is for the first class of its pair. Row r of
// the coefficients has, for a vector of class k, the one against class r, or r + 1 from k on.
Expr decisions(Convert& c, const Machine& m, const Expr& kernel) {
  if (!c.may_make(m.pairs() * m.vectors, DType::float32())) return nullptr;
  std::vector<double> weights(static_cast<size_t>(m.pairs() * m.vectors), 0);
  Ints begins(m.counts.size(), 0);
  std::partial_sum(m.counts.begin(), m.counts.end() - 1, begins.begin() + 1);
  size_t at = 0;  // of the pair's row
  auto copy = [&](int64_t of, int64_t row) {
    const int64_t begin = begins[static_cast<size_t>(of)];
    std::copy_n(m.coefficients.begin() + row * m.vectors + begin, m.counts[static_cast<size_t>(of)],
                weights.begin() + static_cast<std::ptrdiff_t>(at) + begin);
  };
  for (int64_t i = 0; i < m.classes; ++i)
    for (int64_t j = i + 1; j < m.classes; ++j, at += static_cast<size_t>(m.vectors)) copy(i, j - 1), copy(j, i);
  return c.add(c.emit("nn.dense", {kernel, reals(c, weights, {m.pairs(), m.vectors})}), reals(c, m.rho, {m.pairs()}));
}

// The class that wins most pairs, the first of several.
Expr winner(Convert& c, const Machine& m, const Expr& decided) {
  if (!c.may_make(2 * m.classes * m.pairs(), DType::float32())) return nullptr;
  std::vector<double> first(static_cast<size_t>(m.classes * m.pairs()), 0), second = first;
  size_t pair = 0;
  for (int64_t i = 0; i < m.classes; ++i)
    for (int64_t j = i + 1; j < m.classes; ++j, ++pair) {
      first[static_cast<size_t>(i * m.pairs()) + pair] = 1;
      second[static_cast<size_t>(j * m.pairs()) + pair] = 1;
    }
  const Expr wins = c.cast(c.emit("greater", {decided, real(c, 0)}), DType::float32());
  const Expr votes =
      c.add(c.emit("nn.dense", {wins, reals(c, first, {m.classes, m.pairs()})}),
            c.emit("nn.dense", {c.subtract(real(c, 1), wins), reals(c, second, {m.classes, m.pairs()})}));
  return c.cast(c.emit("argmax", {votes}, {{"axis", Ints{1}}}), DType::int64());
}

// The probability of each class against each other: column i * classes + j is that of i against j. (N, classes^2)
Expr pairwise(Convert& c, const Machine& m, const Expr& decided) {
  const Expr linear = c.add(c.multiply(decided, reals(c, m.a, {m.pairs()})), reals(c, m.b, {m.pairs()}));
  Expr p = c.emit("sigmoid", {c.emit("negative", {linear})});
  p = c.emit("maximum", {c.emit("minimum", {p, real(c, 1 - 1e-7)}), real(c, 1e-7)});
  Ints place(static_cast<size_t>(m.classes * m.classes), 0);  // of 0, the pairs, and the remaining ones
  int64_t pair = 0;
  for (int64_t i = 0; i < m.classes; ++i)
    for (int64_t j = i + 1; j < m.classes; ++j, ++pair) {
      place[static_cast<size_t>(i * m.classes + j)] = 1 + pair;
      place[static_cast<size_t>(j * m.classes + i)] = 1 + m.pairs() + pair;
    }
  const Expr zero = c.multiply(c.slice(p, 1, 0, 1), 0.0);
  const Expr all = c.concatenate({zero, p, c.subtract(real(c, 1), p)}, 1);
  return c.emit("take", {all, c.constant(Tensor::from_ints({m.classes * m.classes}, DType::int64(), place))},
                {{"axis", int64_t{1}}, {"mode", "clip"}});
}

// The matrix Q of the coupling, (N, classes, classes): r_ji^2 summed over j on the diagonal, else -r_ji r_ij.
Expr coupling(Convert& c, const Machine& m, const Expr& r) {
  const Expr square = c.emit("reshape", {r}, {{"newshape", Ints{-1, m.classes, m.classes}}});
  const Expr transposed = c.transpose(square, {0, 2, 1});
  std::vector<double> eye(static_cast<size_t>(m.classes * m.classes), 0);
  for (int64_t i = 0; i < m.classes; ++i) eye[static_cast<size_t>(i * m.classes + i)] = 1;
  const Expr diagonal = c.reduce("sum", c.multiply(transposed, transposed), {2}, true);
  return c.subtract(c.multiply(reals(c, eye, {m.classes, m.classes}), diagonal), c.multiply(square, transposed));
}

// The vector p of the coupling, and the values that its iteration maintains.
struct Coupled {
  Expr p, product, form;  // (N, classes); Q p; (N, 1): p Q p
};

Coupled renewed(Convert& c, const Expr& q, const Expr& p) {
  const Expr product = c.reduce("sum", c.multiply(q, c.expand(p, 1)), {2}, false);
  return {p, product, c.reduce("sum", c.multiply(p, product), {1}, true)};
}

// True where Q p differs too much from p Q p. (N, 1)
Expr unfinished(Convert& c, const Machine& m, const Coupled& at) {
  const Expr error = c.reduce("max", c.emit("abs", {c.subtract(at.product, at.form)}), {1}, true);
  return c.emit("greater_equal", {error, real(c, 0.005 / static_cast<double>(m.classes))});
}

// A sweep over the classes: each probability in turn takes the value that solves its equation.
Expr swept(Convert& c, const Machine& m, const Expr& q, Coupled at) {
  for (int64_t i = 0; i < m.classes && !c.failed(); ++i) {
    const Expr row = c.squeeze(c.slice(q, 1, i, i + 1), 1), own = c.slice(row, 1, i, i + 1),
               here = c.slice(at.product, 1, i, i + 1);
    const Expr step = c.divide(c.subtract(at.form, here), own), scale = c.add(step, 1.0);
    at.form = c.divide(c.add(at.form, c.multiply(step, c.add(c.multiply(step, own), c.multiply(here, 2.0)))),
                       c.multiply(scale, scale));
    at.product = c.divide(c.add(at.product, c.multiply(step, row)), scale);
    std::vector<double> one(static_cast<size_t>(m.classes), 0);
    one[static_cast<size_t>(i)] = 1;
    at.p = c.divide(c.add(at.p, c.multiply(step, reals(c, one, {1, m.classes}))), scale);
  }
  return at.p;
}

// Probabilities of the classes, (N, classes), by the iteration of the paper: at most 100 sweeps, and no further ones
// for a row whose error is small.
Expr coupled(Convert& c, const Machine& m, const Expr& decided) {
  if (m.classes > max_coupled)
    return c.unsupported("it has probabilities of {} classes; at most {} can be imported", m.classes, max_coupled);
  Captures outside(c);
  const Expr r = pairwise(c, m, decided);
  const Expr q = outside.hold(coupling(c, m, r));
  const Expr flat = c.multiply(c.slice(r, 1, 0, m.classes), 0.0);
  Steps steps;
  steps.count = c.integer_scalar(100), steps.size = scalar::imm(100);
  steps.state = {c.add(flat, 1 / static_cast<double>(m.classes))};
  if (c.failed()) return nullptr;
  std::optional<Stepped> done = repeat(c, steps, outside, [&](const Expr&, const Exprs& state) {
    const Coupled now = renewed(c, q, state[0]);
    const Expr moves = unfinished(c, m, now);
    Step step;
    step.state = {c.emit("where", {moves, swept(c, m, q, now), state[0]})};
    step.condition = c.reduce("any", moves, {0, 1}, false);
    return c.failed() ? std::optional<Step>() : std::optional(step);
  });
  return done ? done->state[0] : nullptr;
}

// Without support vectors: one linear score per class.
Values linear_machine(Convert& c, const Machine& m, const Expr& x) {
  if (static_cast<int64_t>(m.coefficients.size()) % m.classes != 0)
    return c.bad("it has {} coefficients for {} classes", m.coefficients.size(), m.classes);
  const int64_t features = static_cast<int64_t>(m.coefficients.size()) / m.classes;
  const Expr scores = c.add(c.emit("nn.dense", {x, reals(c, m.coefficients, {m.classes, features})}), m.rho[0]);
  Expr best = c.cast(c.emit("argmax", {scores}, {{"axis", Ints{1}}}), DType::int64());
  if (m.classes == 2 && m.a.empty()) {
    // Two classes without probabilities: the second wins if the larger score is positive.
    const bool positive = std::all_of(m.coefficients.begin(), m.coefficients.end(), [](double w) { return w >= 0; });
    const Expr most = c.reduce("max", scores, {1}, false);
    const Expr second =
        positive ? c.emit("greater_equal", {most, real(c, 0.5)}) : c.emit("greater", {most, real(c, 0)});
    best = c.emit("where", {second, c.integer_scalar(1), best});
  }
  return {labelled(c, best, m.classes), transformed(c, scores)};
}

}  // namespace

// Labels, and scores: probabilities if prob_a is present, else the decisions of the pairs of classes.
Values SVMClassifier(Convert& c) {
  Expr x = samples(c);
  std::optional<Machine> m = read_machine(c);
  if (!x || !m) return {};
  x = c.cast(x, DType::float32());
  if (m->vectors == 0) return linear_machine(c, *m, x);
  const Expr kernel = kernel_of(c, x, float_values(c, "support_vectors"), m->vectors);
  const Expr decided = decisions(c, *m, kernel);
  if (!decided) return {};
  const Value label = labelled(c, winner(c, *m, decided), m->classes);
  if (!m->a.empty()) return {label, transformed(c, coupled(c, *m, decided))};
  if (m->classes > 2) return {label, transformed(c, decided)};
  // A single decision of two classes: the score of the second, and its opposite.
  const std::string how = c.text("post_transform", "NONE");
  if (how == "PROBIT") return c.unsupported("post_transform is PROBIT, with one score for two classes");
  if (how == "LOGISTIC")
    return {label, c.emit("sigmoid", {c.concatenate({c.emit("negative", {decided}), decided}, 1)})};
  const Expr other = how == "NONE" ? c.emit("negative", {decided}) : c.subtract(real(c, 1), decided);
  return {label, c.concatenate({other, decided}, 1)};
}

}  // namespace relay::onnx::ml
