#include "relay/lower/algorithms/attention/attention.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/group.h"
#include "relay/lower/group/register_tile.h"
#include "relay/lower/group/rounded.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::BinaryOp;
using scalar::Binding;
using scalar::fimm;
using scalar::imm;
using scalar::Kind;
using scalar::select;
using scalar::UnaryOp;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Subtracted from the scores besides the maximum, so that sums of a million weights times values stay below the values.
constexpr double margin = 14;

// The attention that was found, over the axes of `result`.
struct Found {
  te::Tensor product, max, sum, result;
  Expr score;              // of (row, key), with a single load of `product`
  Expr product_load;       // that load
  Expr query, key, value;  // factors; the first two over `depth` too
  Expr key_var, depth_var;
  Expr keys, depth;  // extents
  size_t row = 0, column = 0;
  std::vector<size_t> batch;
};

bool is_unary(const Expr& e, UnaryOp op) { return e->kind == Kind::Unary && e->unary == op; }
bool is_binary(const Expr& e, BinaryOp op) { return e->kind == Kind::Binary && e->binary == op; }
bool uses(const Expr& e, const Expr& var) {
  const Exprs vars = scalar::free_vars(e);
  return std::find(vars.begin(), vars.end(), var) != vars.end();
}
te::Tensor source_of(const Expr& e) {
  return e->kind == Kind::Load ? te::Tensor(dynamic_cast<const te::TensorNode*>(e->source.get())) : te::Tensor();
}

// The two parts of a quotient: exp / sum or exp * (1 / sum).
struct Quotient {
  Expr exp, sum;
};
std::optional<Quotient> quotient(const Expr& weight) {
  const Expr& e = unrounded(weight);
  if (is_binary(e, BinaryOp::Div) && is_unary(unrounded(e->args[0]), UnaryOp::Exp))
    return Quotient{unrounded(e->args[0]), e->args[1]};
  if (!is_binary(e, BinaryOp::Mul)) return std::nullopt;
  for (int side : {0, 1}) {
    const Expr &exp = unrounded(e->args[side]), &scale = e->args[1 - side];
    if (is_unary(exp, UnaryOp::Exp) && is_binary(scale, BinaryOp::Div) && scale->args[0]->kind == Kind::Float &&
        scale->args[0]->fvalue == 1)
      return Quotient{exp, scale->args[1]};
  }
  return std::nullopt;
}

// The body of a reduction over one axis at `load`, with `var` for that axis.
Expr body_at(const Expr& load, const Expr& var, const Expanded& bodies, const scalar::Bounds& bounds) {
  const te::Tensor stage = source_of(load);
  std::vector<Binding> now{{stage->reduce_axes[0].var, var}};
  for (size_t d = 0; d < stage->axes.size(); ++d) now.push_back({stage->axes[d].var, load->args[d]});
  return scalar::simplify(scalar::substitute(bodies.body(*stage), now), bounds);
}

bool reduces_one_axis(const te::Tensor& t, te::Combiner combiner) {
  return t && !t->is_placeholder() && t->combiner == combiner && t->reduce_axes.size() == 1 &&
         t->dtype == DType::float32();
}

std::optional<Found> find(const te::Tensors& outputs) {
  if (outputs.size() != 1 || outputs[0]->is_placeholder() || has_program(outputs)) return std::nullopt;
  const te::Tensors stages = te::topological(outputs);
  Schedule flat;
  te::Tensors reductions;
  for (const te::Tensor& t : stages) {
    if (t->is_placeholder()) continue;
    if (t->combiner != te::Combiner::None) reductions.push_back(t);
    flat.stages[t->name].place = t->combiner != te::Combiner::None ? Place::Root : Place::Inline;
  }
  if (reductions.size() != 4 || !WrittenSize::is_small(stages, flat)) return std::nullopt;
  const Expanded bodies = expand(stages, flat);
  Found f;
  f.result = reductions.back();
  const te::TensorNode& r = *f.result;
  if (!reduces_one_axis(f.result, te::Combiner::Sum) || !is_binary(bodies.body(r), BinaryOp::Mul)) return std::nullopt;
  scalar::Bounds bounds;
  for (const std::vector<te::Axis>* axes : {&r.axes, &r.reduce_axes})
    for (const te::Axis& a : *axes) {
      const int64_t extent = extent_or(a, 0);
      extent > 0 ? bounds.set(a.var, 0, extent) : bounds.set(a.var, {0, std::nullopt});
    }
  f.key_var = r.reduce_axes[0].var, f.keys = scalar::simplify(r.reduce_axes[0].extent);
  if (scalar::is_int(f.keys) && f.keys->ivalue < 1) return std::nullopt;  // an empty sum is zero, without a softmax

  // The softmax, with a check that its three places agree on the scores.
  const Exprs& factors = bodies.body(r)->args;
  std::optional<Quotient> q = quotient(factors[0]);
  f.value = factors[1];
  if (!q) q = quotient(factors[1]), f.value = factors[0];
  if (!q || !is_binary(q->exp->args[0], BinaryOp::Sub)) return std::nullopt;
  const Expr &score = q->exp->args[0]->args[0], &max_load = q->exp->args[0]->args[1];
  f.sum = source_of(q->sum), f.max = source_of(max_load), f.score = score;
  if (!reduces_one_axis(f.sum, te::Combiner::Sum) || !reduces_one_axis(f.max, te::Combiner::Max) ||
      !scalar::equal(unrounded(body_at(q->sum, f.key_var, bodies, bounds)), q->exp) ||
      !scalar::equal(body_at(max_load, f.key_var, bodies, bounds), score) ||
      !scalar::prove_equal(f.sum->reduce_axes[0].extent, f.keys).value_or(false) ||
      !scalar::prove_equal(f.max->reduce_axes[0].extent, f.keys).value_or(false) || uses(q->sum, f.key_var) ||
      uses(max_load, f.key_var))
    return std::nullopt;

  // The scores must use one product.
  int products = 0;
  scalar::visit(score, [&](const Expr& e) {
    if (te::Tensor t = source_of(e); t && t->combiner != te::Combiner::None) f.product_load = e, ++products;
  });
  f.product = products == 1 ? source_of(f.product_load) : te::Tensor();
  if (!reduces_one_axis(f.product, te::Combiner::Sum)) return std::nullopt;
  f.depth_var = scalar::var("depth"), f.depth = scalar::simplify(f.product->reduce_axes[0].extent);
  const Expr body = body_at(f.product_load, f.depth_var, bodies, bounds);
  if (!is_binary(body, BinaryOp::Mul)) return std::nullopt;

  // The role of each axis.
  bool has_row = false, has_column = false;
  for (size_t d = 0; d < r.axes.size(); ++d) {
    const Expr& var = r.axes[d].var;
    const bool in_score = uses(score, var), in_value = uses(f.value, var);
    if (in_score && !in_value && extent_or(r.axes[d], 2) > 1) {
      if (!has_row || extent_or(r.axes[d], usual_features) > extent_or(r.axes[f.row], usual_features))
        f.row = d;  // others are batches
      has_row = true;
    } else if (in_value && !in_score && extent_or(r.axes[d], 2) > 1 && !has_column)
      f.column = d, has_column = true;
    else if (in_value && !in_score)
      return std::nullopt;
  }
  if (!has_row || !has_column) return std::nullopt;
  for (size_t d = 0; d < r.axes.size(); ++d)
    if (d != f.row && d != f.column) f.batch.push_back(d);
  const Expr& row = r.axes[f.row].var;
  f.query = body->args[0], f.key = body->args[1];
  if (uses(f.key, row)) std::swap(f.query, f.key);
  if (uses(f.key, row) || uses(f.query, f.key_var) || !uses(f.key, f.key_var) || !uses(f.value, f.key_var))
    return std::nullopt;
  for (const Expr& e : {f.query, f.key, f.value})
    if (e->dtype != DType::float32()) return std::nullopt;
  // Only pointwise work may follow, with no other reads of these stages.
  if (pointwise_end(GroupView(outputs), f.result, {}) != outputs[0]) return std::nullopt;
  return f;
}

// Builds the stages over new axes.
class Rewriter {
 public:
  Rewriter(const te::Tensors& outputs, const Found& found, int64_t block) : f_(found), block_(block) {
    for (const te::Tensor& t : te::topological(outputs)) names_.insert(t->name);
    for (size_t d : f_.batch) batch_.push_back(f_.result->axes[d].extent);
    rows_ = f_.result->axes[f_.row].extent, columns_ = f_.result->axes[f_.column].extent;
    steps_ = block ? scalar::simplify(floordiv(f_.keys + (block - 1), block)) : Expr{};
  }

  te::Tensor run() {
    names.batches = static_cast<int64_t>(f_.batch.size()), names.block = block_;
    names.row = f_.row, names.column = f_.column, names.result = f_.result->name;
    const size_t b = f_.batch.size();
    // Keys for all heads, or rows of images, are packed once: without the batch axes that they lack.
    std::vector<size_t> batches_of_keys;
    for (size_t d = 0; d < b; ++d)
      if (uses(f_.key, f_.result->axes[f_.batch[d]].var)) batches_of_keys.push_back(d);
    auto of_keys = [&](const Exprs& batches, const Exprs& more) {
      Exprs out;
      for (size_t d : batches_of_keys) out.push_back(batches[d]);
      out.insert(out.end(), more.begin(), more.end());
      return out;
    };
    te::Tensor keys =
        te::compute(names.keys = unused("keys"), of_keys(batch_, {f_.keys, f_.depth}), [&](const Exprs& i) {
          Exprs batches(b, imm(0));
          for (size_t d = 0; d < batches_of_keys.size(); ++d) batches[batches_of_keys[d]] = i[d];
          return at(f_.key, batches, {}, {}, i[i.size() - 2], i.back());
        });
    te::Tensor product =
        te::reduce(names.product = unused("product"), shape({rows_, f_.keys}), {f_.depth}, te::Combiner::Sum,
                   [&](const Exprs& i, const Exprs& k) {
                     return at(f_.query, i, i[b], {}, {}, k[0]) * (*keys)(of_keys(i, {i[b + 1], k[0]}));
                   });
    te::Tensor scores = te::compute(names.scores = unused("scores"), shape({rows_, f_.keys}), [&](const Exprs& i) {
      const Expr score = scalar::rewrite(
          f_.score, [&](const Expr& e) { return scalar::equal(e, f_.product_load) ? (*product)(of_result()) : e; });
      return at(score, i, i[b], {}, i[b + 1], {});
    });
    te::Tensor mean = block_ ? in_blocks(scores) : at_once(scores);
    // Keeps its name and axes.
    te::TensorNode result = *f_.result;
    Exprs index;
    for (size_t d : f_.batch) index.push_back(result.axes[d].var);
    index.push_back(result.axes[f_.row].var), index.push_back(result.axes[f_.column].var);
    Expr value = (*mean)(index);
    if (inverse_sum_) value = value * (*inverse_sum_)(Exprs(index.begin(), index.end() - 1));
    result.combiner = te::Combiner::None, result.reduce_axes.clear(), result.body = value;
    return te::Tensor(new te::TensorNode(std::move(result)));
  }

  Attention names;

 private:
  std::string unused(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }
  Exprs shape(const Exprs& more) const { return of(batch_, more); }
  // The batches of `i`, and `more`.
  Exprs of(const Exprs& i, const Exprs& more) const {
    Exprs out(i.begin(), i.begin() + static_cast<int64_t>(f_.batch.size()));
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  // b, i, j as the axes of the result.
  Exprs of_result() const {
    Exprs out;
    for (size_t d : f_.batch) out.push_back(f_.result->axes[d].var);
    out.push_back(f_.result->axes[f_.row].var), out.push_back(f_.key_var);
    return out;
  }
  // `e`, which is over the axes of the result, at batches i[0], i[1], ... and at the other indices that it uses.
  Expr at(const Expr& e, const Exprs& i, const Expr& row, const Expr& column, const Expr& key,
          const Expr& depth) const {
    const te::TensorNode& r = *f_.result;
    std::vector<Binding> now;
    for (size_t d = 0; d < f_.batch.size(); ++d) now.push_back({r.axes[f_.batch[d]].var, i[d]});
    if (row) now.push_back({r.axes[f_.row].var, row});
    if (column) now.push_back({r.axes[f_.column].var, column});
    if (key) now.push_back({f_.key_var, key});
    if (depth) now.push_back({f_.depth_var, depth});
    return scalar::substitute(e, now);
  }
  static Expr number(double v) { return fimm(v, DType::float32()); }
  static Expr exp(const Expr& e) { return scalar::unary(UnaryOp::Exp, e); }
  // The value subtracted from scores with this maximum, which must not be minus infinity.
  static Expr base_of(const Expr& max) {
    return select(scalar::eq(max, number(-infinity)), number(0), max + number(margin));
  }

  te::Tensor at_once(const te::Tensor& scores) {
    const size_t b = f_.batch.size();
    te::Tensor top = te::reduce(names.row_max = unused("max"), shape({rows_}), {f_.keys}, te::Combiner::Max,
                                [&](const Exprs& i, const Exprs& k) { return (*scores)(of(i, {i[b], k[0]})); });
    te::Tensor base =
        te::compute(names.base = unused("base"), shape({rows_}), [&](const Exprs& i) { return base_of((*top)(i)); });
    te::Tensor weights = te::compute(names.weights = unused("weights"), shape({rows_, f_.keys}),
                                     [&](const Exprs& i) { return exp((*scores)(i) - (*base)(of(i, {i[b]}))); });
    te::Tensor total = te::reduce(names.total = unused("sum"), shape({rows_}), {f_.keys}, te::Combiner::Sum,
                                  [&](const Exprs& i, const Exprs& k) { return (*weights)(of(i, {i[b], k[0]})); });
    inverse_sum_ = te::compute(names.inverse_sum = unused("inverse_sum"), shape({rows_}),
                               [&](const Exprs& i) { return scalar::binary(BinaryOp::Div, number(1), (*total)(i)); });
    return te::reduce(names.part = unused("values"), shape({rows_, columns_}), {f_.keys}, te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& k) {
                        return (*weights)(of(i, {i[b], k[0]})) * at(f_.value, i, {}, i[b + 1], k[0], {});
                      });
  }

  te::Tensor in_blocks(const te::Tensor& scores) {
    const size_t b = f_.batch.size();
    const Expr block = imm(block_);
    const Exprs of_row = shape({rows_, steps_});  // b, i, t
    const DType t32 = DType::float32();
    auto exists = [&](const Expr& t, const Expr& j) { return scalar::lt(t * block + j, f_.keys); };
    auto first = [&](const Expr& t) { return scalar::eq(t, imm(0)); };
    auto previous = [&](Exprs i) { return i.back() = i.back() - 1, i; };

    te::Tensor top = ragged(b + 1, te::reduce(names.row_max = unused("block_max"), of_row, {block}, te::Combiner::Max,
                                              [&](const Exprs& i, const Exprs& k) {
                                                return (*scores)(of(i, {i[b], i[b + 1] * block + k[0]}));
                                              }));
    te::Tensor max = te::scan(names.max = unused("max"), of_row, t32, [&](const Exprs& i, const te::Tensor& self) {
      return select(first(i[b + 1]), (*top)(i), scalar::max((*self)(previous(i)), (*top)(i)));
    });
    te::Tensor base =
        te::compute(names.base = unused("base"), of_row, [&](const Exprs& i) { return base_of((*max)(i)); });
    te::Tensor weights =
        te::compute(names.weights = unused("weights"), shape({rows_, steps_, block}), [&](const Exprs& i) {
          return select(exists(i[b + 1], i[b + 2]),
                        exp((*scores)(of(i, {i[b], i[b + 1] * block + i[b + 2]})) - (*base)(of(i, {i[b], i[b + 1]}))),
                        number(0));
        });
    te::Tensor rescale = te::compute(names.rescale = unused("rescale"), of_row, [&](const Exprs& i) {
      return select(first(i[b + 1]), number(0), exp((*max)(previous(i)) + number(margin) - (*base)(i)));
    });
    te::Tensor total = ragged(
        b + 1, te::reduce(names.total = unused("block_sum"), of_row, {block}, te::Combiner::Sum,
                          [&](const Exprs& i, const Exprs& k) { return (*weights)(of(i, {i[b], i[b + 1], k[0]})); }));
    te::Tensor sum = te::scan(names.sum = unused("sum"), of_row, t32, [&](const Exprs& i, const te::Tensor& self) {
      return select(first(i[b + 1]), (*total)(i), (*self)(previous(i)) * (*rescale)(i) + (*total)(i));
    });
    // If the sum so far is empty there is no mean, unless this was the only block.
    te::Tensor inverse_sum = te::compute(names.inverse_sum = unused("inverse_sum"), of_row, [&](const Exprs& i) {
      const Expr none = scalar::logical_and(scalar::eq((*sum)(i), number(0)), scalar::lt(i[b + 1] + 1, steps_));
      return select(none, number(0), scalar::binary(BinaryOp::Div, number(1), (*sum)(i)));
    });
    te::Tensor keep = te::compute(names.keep = unused("keep"), of_row, [&](const Exprs& i) {
      return select(first(i[b + 1]), number(0), (*sum)(previous(i)) * (*rescale)(i) * (*inverse_sum)(i));
    });
    const Exprs of_column = shape({rows_, columns_, steps_});  // b, i, d, t
    te::Tensor part = ragged(b + 2, te::reduce(names.part = unused("values"), of_column, {block}, te::Combiner::Sum,
                                               [&](const Exprs& i, const Exprs& k) {
                                                 const Expr value =
                                                     at(f_.value, i, {}, i[b + 1], i[b + 2] * block + k[0], {});
                                                 return (*weights)(of(i, {i[b], i[b + 2], k[0]})) * value;
                                               }));
    te::Tensor mean =
        te::scan(names.mean = unused("mean"), of_column, t32, [&](const Exprs& i, const te::Tensor& self) {
          const Exprs row = of(i, {i[b], i[b + 2]});
          const Expr added = (*part)(i) * (*inverse_sum)(row);
          return select(first(i[b + 2]), added, (*self)(previous(i)) * (*keep)(row) + added);
        });
    return te::reduce(names.last = unused("last"), shape({rows_, columns_}), {steps_}, te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& k) {
                        return select(scalar::eq(k[0], scalar::simplify(steps_ - 1)),
                                      (*mean)(of(i, {i[b], i[b + 1], k[0]})), number(0));
                      });
  }

  // A reduction over a block of keys, the block's number being axis `t`: the last block ends with the keys.
  te::Tensor ragged(size_t t, const te::Tensor& whole) const {
    if (scalar::is_int(f_.keys) && f_.keys->ivalue % block_ == 0) return whole;
    te::TensorNode node = *whole;
    node.reduce_axes[0].extent = scalar::min(imm(block_), f_.keys - node.axes[t].var * block_);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }

  const Found& f_;
  int64_t block_;
  std::set<std::string> names_;
  Exprs batch_;
  Expr rows_, columns_, steps_;
  te::Tensor inverse_sum_;
};

}  // namespace

// Keys per block: whole register tiles and whole chains of partial results, as even as possible.
static int64_t choose_block(const Found& f, const TargetDesc& target) {
  constexpr int64_t max_at_once = 512;  // keys: a row of scores, twice, stays in L1
  constexpr int64_t usual = usual_features;
  const int lanes = target.vector_bytes / 4;
  const Expr rows = scalar::simplify(f.result->axes[f.row].extent);
  const int64_t keys = scalar::is_int(f.keys) ? f.keys->ivalue : 0;
  if (keys && keys <= max_at_once) return keys;
  const RegisterTile tile =
      choose_tile(target, lanes, usual, vectors_of_keys(keys > 0), {usual_rows, scalar::is_int(rows)}, {});
  const int64_t unit = std::lcm(tile.nb * lanes, 4 * lanes), most = std::max(unit, usual / unit * unit);
  const int64_t blocks = (keys + most - 1) / most;
  return keys ? ((keys + blocks - 1) / blocks + unit - 1) / unit * unit : most;
}

std::optional<Attention> rewrite_attention(te::Tensors& outputs, const TargetDesc& target, int64_t block) {
  constexpr int64_t widest = 256;  // columns of values, and depth of keys: a block of rows stays in L1
  std::optional<Found> f = find(outputs);
  if (!f) return std::nullopt;
  const int64_t lanes = target.vector_bytes / 4, columns = extent_or(f->result->axes[f->column], 0),
                depth = extent_or({{}, f->depth}, 0);
  // With few rows, memory dominates, which the plain form reads as well. Columns are lanes.
  if (depth < 1 || depth > widest || columns < lanes / 2 || columns > widest ||
      extent_or(f->result->axes[f->row], usual_rows) < 4)
    return std::nullopt;
  if (block == 0) block = choose_block(*f, target);
  const bool all = scalar::is_int(f->keys) && f->keys->ivalue <= block;
  Rewriter rewriter(outputs, *f, all ? 0 : block);
  te::Tensors now = redirect(outputs, f->result, rewriter.run());
  for (const te::Tensor& t : te::topological(now))
    if (t == f->product || t == f->max || t == f->sum) return std::nullopt;  // has other readers
  outputs = std::move(now);
  return rewriter.names;
}

}  // namespace relay::lower
