// Random tensor expressions with exact results: all values are small integers, also in float32, so that any order of
// summation yields the same bits and a schedule is right or wrong, never "close".
#pragma once

#include <limits>
#include <random>

#include "relay/base/text.h"
#include "relay/lower/algorithms/algorithm.h"
#include "relay/scalar/simplify.h"
#include "relay/te/merge.h"

namespace relay::fuzz {

using scalar::Expr;
using scalar::Exprs;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool chance(int percent) { return in(0, 99) < percent; }
  // A random number that does not affect the following ones, so that a seed keeps the rest of its case.
  int64_t aside(int64_t low, int64_t high) const {
    Random other = *this;
    other.engine_.discard(17);
    return other.in(low, high);
  }
  template <class T>
  const T& of(const std::vector<T>& v) {
    return v[in(0, static_cast<int64_t>(v.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

struct Program {
  te::Tensors outputs;
  std::vector<std::pair<Expr, int64_t>> symbols;  // shape variables and the values to run with
  std::vector<te::Tensor> weights;                // placeholders that a compiler may treat as constants
  bool is_close = false;                          // contains exponentials or means: results are close, not equal
};

class ProgramGenerator {
 public:
  explicit ProgramGenerator(Random& random) : random_(random) {}

  Program generate() {
    const int64_t kind = random_.in(0, 199);
    if (kind == 0) return random_.chance(70) ? convolution() : product();
    if (kind <= 4) return attention();
    if (kind <= 8) return moments();
    dtype_ = random_.chance(75) ? DType::float32() : DType::int32();
    if (random_.chance(30)) {
      Expr n = scalar::var("n");
      program_.symbols.push_back({n, random_.in(1, 11)});
    }
    te::Tensor t = new_placeholder(random_shape());
    bound_ = 3;
    int64_t steps = random_.in(1, 5);
    for (int64_t i = 0; i < steps; ++i) {
      te::Tensor next = step(t);
      if (bound_ > (1 << 20)) break;  // sums would leave the integers that float32 holds exactly
      all_.push_back(t);
      t = next;
    }
    program_.outputs = {t};
    if (!all_.empty() && random_.chance(15)) {
      te::Tensor other = random_.of(all_);
      if (!other->is_placeholder()) program_.outputs.push_back(other);
    } else if (!t->is_placeholder() && !t->shape.empty() && random_.aside(0, 99) < 20)
      add_result(t);
    return program_;
  }

  // A product, of which one factor or both are copied first, as asynchronous copies need it: rows of a constant size.
  Program product_of_copies() {
    dtype_ = random_.chance(75) ? DType::float32() : DType::int32();
    const Expr k = scalar::imm(random_.in(1, 3) * random_.of(std::vector<int64_t>{2, 4, 8, 12}));
    Expr rows = scalar::imm(random_.in(1, 20));
    if (random_.chance(30)) {
      rows = scalar::var("n");
      program_.symbols.push_back({rows, random_.in(1, 11)});
    }
    auto copied = [&](const te::Tensor& x) {
      return te::compute(x->name + "_copy", x->shape, [&](const Exprs& i) { return (*x)(i); });
    };
    te::Tensor x = new_placeholder({rows, k}), w = new_placeholder({scalar::imm(random_.in(1, 20)), k});
    const int64_t which = random_.in(0, 2);
    if (which != 0) x = copied(x);
    if (which != 1) w = copied(w);
    bound_ = 9 * k->ivalue;
    te::Tensor product =
        te::reduce("product", {rows, w->shape[0]}, {k}, te::Combiner::Sum,
                   [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0]}) * (*w)({i[1], r[0]}); });
    program_.outputs = {random_.chance(50) ? bias(product) : product};
    return program_;
  }

 private:
  // Adds a result of the same shape that reads t, or t's input instead.
  void add_result(const te::Tensor& t) {
    te::Tensor from = t;
    for (const te::Tensor& in : te::inputs(t))
      if (random_.aside(0, 1) == 0 && !te::has_several_values(*in) && in->shape.size() == t->shape.size() &&
          std::equal(in->shape.begin(), in->shape.end(), t->shape.begin(), scalar::equal))
        from = in;
    program_.outputs.push_back(te::compute("second", t->shape, [&](const Exprs& i) {
      return scalar::max((*from)(i), number(1)) + scalar::min((*t)(i), number(2));
    }));
    if (random_.aside(0, 2) == 0) std::swap(program_.outputs[0], program_.outputs[1]);
  }

  Exprs random_shape() {
    Exprs shape;
    int64_t rank = random_.in(1, 4);
    for (int64_t d = 0; d < rank; ++d) {
      bool last = d == rank - 1;
      if (!program_.symbols.empty() && random_.chance(35))
        shape.push_back(program_.symbols[0].first);
      else
        shape.push_back(scalar::imm(random_.in(1, last || random_.chance(20) ? 40 : 9)));
    }
    return shape;
  }
  te::Tensor new_placeholder(Exprs shape) {
    return te::placeholder(format("x{}", placeholders_++), std::move(shape), dtype_);
  }
  te::Tensor new_weight(Exprs shape) {
    program_.weights.push_back(te::placeholder(format("w{}", placeholders_++), std::move(shape), dtype_));
    return program_.weights.back();
  }
  Expr number(int64_t v) { return scalar::imm(v, dtype_); }
  bool is_static(const Expr& e) const { return scalar::is_int(e); }

  te::Tensor step(const te::Tensor& t) {
    size_t rank = t->shape.size();
    const int64_t aside = random_.aside(0, 99);
    if (rank > 0 && aside < 8) return running_sums(t);
    if (rank > 0 && aside < 22) return several_values(t);
    switch (rank == 0 ? 0 : random_.in(0, 13)) {
      case 0:
        bound_ = bound_ * 2 + 1;
        return te::compute("twice", t->shape, [&](const Exprs& i) { return (*t)(i)*number(2) + number(1); });
      case 1: return te::compute("relu", t->shape, [&](const Exprs& i) { return scalar::max((*t)(i), number(0)); });
      case 2: return add(t);
      case 3: return bias(t);
      case 4: return pad(t);
      case 5:
      case 6: return window(t);
      case 7:
      case 8: return rank >= 3 ? convolution(t) : matmul(t);
      case 9: return matmul(t);
      case 10: return reduce_axis(t);
      case 11: return move(t);
      case 12: return concatenate(t);
      default: return rank >= 2 ? centre(t) : reduce_axis(t);
    }
  }

  // A program: for each element, the sum along an axis up to it, stored from the last to the first.
  te::Tensor running_sums(const te::Tensor& t) {
    const size_t d = static_cast<size_t>(random_.aside(0, static_cast<int64_t>(t->shape.size()) - 1));
    std::vector<size_t> batch;
    for (size_t other = 0; other < t->shape.size(); ++other)
      if (other != d) batch.push_back(other);
    const Expr n = t->shape[d], k = scalar::var("k"), cell = scalar::imm(0);
    bound_ *= is_static(n) ? n->ivalue : program_.symbols[0].second + 4;
    return te::program("sums", t->shape, dtype_, batch, [&](const Exprs& b, const loop::BufferRef& result) {
      auto at = [&](const Expr& place) {
        Exprs i = b;
        i.insert(i.begin() + static_cast<std::ptrdiff_t>(d), place);
        return i;
      };
      const loop::BufferRef sum = loop::buffer("sum", dtype_, {scalar::imm(1)}, loop::Scope::Stack);
      const loop::Stmt step = loop::block({loop::store(sum, {cell}, scalar::load(sum, {cell}) + (*t)(at(k))),
                                           loop::store(result, at(n - 1 - k), scalar::load(sum, {cell}))});
      return loop::alloc(sum, loop::block({loop::store(sum, {cell}, number(0)),
                                           loop::for_(k, scalar::imm(0), n, loop::ForKind::Serial, step)}));
    });
  }

  te::Tensor add(const te::Tensor& t) {
    te::Tensor other;
    for (const te::Tensor& a : all_)
      if (a->shape.size() == t->shape.size() &&
          std::equal(a->shape.begin(), a->shape.end(), t->shape.begin(), scalar::equal))
        other = a;
    if (!other || random_.chance(60)) other = branch(t->shape);
    bound_ *= 2;
    return te::compute("add", t->shape, [&](const Exprs& i) { return (*t)(i) + (*other)(i); });
  }
  // An independent branch: the same arithmetic on a separate input, or only that input.
  te::Tensor branch(const Exprs& shape) {
    te::Tensor x = new_placeholder(shape);
    if (random_.chance(25)) return x;
    bound_ += 3;
    return te::compute("branch", shape, [&](const Exprs& i) {
      Exprs at = i;
      at.back() = shape.back() - 1 - i.back();
      return (*x)(at) + number(1);
    });
  }
  te::Tensor bias(const te::Tensor& t) {
    size_t d = random_.in(0, static_cast<int64_t>(t->shape.size()) - 1);
    te::Tensor b = new_weight({t->shape[d]});
    bound_ += 3;
    return te::compute("bias", t->shape, [&](const Exprs& i) { return (*t)(i) + (*b)({i[d]}); });
  }
  te::Tensor pad(const te::Tensor& t) {
    Exprs shape = t->shape;
    std::vector<int64_t> low(shape.size()), high(shape.size());
    for (size_t d = 0; d < shape.size(); ++d)
      if (random_.chance(60))
        low[d] = random_.in(0, 2), high[d] = random_.in(0, 2), shape[d] = shape[d] + (low[d] + high[d]);
    int64_t value = random_.chance(70) ? 0 : -2;
    return te::compute("padded", shape, [&](const Exprs& i) {
      Expr inside = scalar::imm(1, DType::boolean());
      Exprs at = i;
      for (size_t d = 0; d < shape.size(); ++d) {
        at[d] = i[d] - low[d];
        if (low[d]) inside = scalar::logical_and(inside, scalar::le(scalar::imm(low[d]), i[d]));
        if (high[d]) inside = scalar::logical_and(inside, scalar::lt(i[d], t->shape[d] + low[d]));
      }
      return scalar::select(inside, (*t)(at), number(value));
    });
  }
  te::Tensor window(const te::Tensor& t) {
    std::vector<size_t> dims;
    for (size_t d = 0; d < t->shape.size(); ++d)
      if (is_static(t->shape[d]) && t->shape[d]->ivalue >= 3) dims.push_back(d);
    if (dims.empty()) return pad(t);
    size_t d = random_.of(dims);
    int64_t k = random_.in(2, 3), stride = random_.in(1, 2), extent = (t->shape[d]->ivalue - k) / stride + 1;
    Exprs shape = t->shape;
    shape[d] = scalar::imm(extent);
    bool weighted = random_.chance(40), max = !weighted && random_.chance(50);
    te::Tensor w = weighted ? new_weight({scalar::imm(k)}) : te::Tensor();
    bound_ *= weighted ? 3 * k : max ? 1 : k;
    return te::reduce("window", shape, {scalar::imm(k)}, max ? te::Combiner::Max : te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& r) {
                        Exprs at = i;
                        at[d] = i[d] * stride + r[0];
                        return w ? (*t)(at) * (*w)({r[0]}) : (*t)(at);
                      });
  }
  te::Tensor convolution(const te::Tensor& t) {
    if (!is_static(t->shape[1]) || !is_static(t->shape[2]) || t->shape[2]->ivalue < 3) return matmul(t);
    int64_t k = random_.in(1, 3), stride = random_.in(1, 2), out = random_.in(1, 40), channels = t->shape[1]->ivalue;
    te::Tensor w = new_weight({scalar::imm(out), t->shape[1], scalar::imm(k)});
    const int64_t apart = k > 1 ? random_.aside(1, std::min<int64_t>(3, (t->shape[2]->ivalue - 1) / (k - 1))) : 1;
    Exprs shape = t->shape;
    shape[1] = scalar::imm(out), shape[2] = scalar::imm((t->shape[2]->ivalue - (k - 1) * apart - 1) / stride + 1);
    bound_ *= 3 * k * channels;
    return te::reduce("conv", shape, {t->shape[1], scalar::imm(k)}, te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& r) {
                        Exprs at = i;
                        at[1] = r[0], at[2] = i[2] * stride + r[1] * apart;
                        return (*t)(at) * (*w)({i[1], r[0], r[1]});
                      });
  }
  // A program in the form of an algorithm, if one applies that is exact on small integers.
  Program in_a_form(const te::Tensor& weight, const TargetDesc& target) {
    std::vector<te::Tensors> variants;
    for (const lower::Algorithm* a : lower::algorithms())
      for (lower::Variant& variant : a->variants(program_.outputs, {weight->name}, target))
        variants.push_back(std::move(variant.outputs));
    if (!variants.empty()) program_.outputs = random_.of(variants);
    return program_;
  }
  Program convolution() {
    dtype_ = DType::float32();
    auto size = [&](int64_t low, int64_t high) { return scalar::imm(random_.in(low, high)); };
    te::Tensor x = new_placeholder({size(1, 2), size(1, 10), size(3, 8), size(3, 6)});
    te::Tensor data = random_.chance(70) ? pad(x) : x;
    const int64_t ky = random_.chance(80) ? 3 : 1, kx = ky == 1 || random_.chance(80) ? 3 : 1;
    te::Tensor w = new_weight({size(1, 20), scalar::simplify(data->shape[1]), scalar::imm(ky), scalar::imm(kx)});
    Exprs shape = data->shape;
    shape[1] = w->shape[0];
    const int64_t dy = random_.aside(1, std::min<int64_t>(3, (x->shape[2]->ivalue - 1) / 2)),
                  dx = random_.aside(1, std::min<int64_t>(3, (x->shape[3]->ivalue - 1) / 2));
    shape[2] = scalar::simplify(shape[2] - (ky - 1) * dy), shape[3] = scalar::simplify(shape[3] - (kx - 1) * dx);
    te::Tensor conv =
        te::reduce("conv", shape, {data->shape[1], scalar::imm(ky), scalar::imm(kx)}, te::Combiner::Sum,
                   [&](const Exprs& i, const Exprs& r) {
                     return (*data)({i[0], r[0], i[2] + r[1] * dy, i[3] + r[2] * dx}) * (*w)({i[1], r[0], r[1], r[2]});
                   });
    program_.outputs = {random_.chance(50) ? bias(conv) : conv};
    return in_a_form(w, {});
  }
  Program product() {
    dtype_ = DType::float32();
    const Expr rows = scalar::imm(random_.in(2, 9)), k = scalar::imm(2 * random_.in(1, 9)), n = scalar::imm(64);
    te::Tensor x = new_placeholder({rows, k}), w = new_weight({k, n});
    te::Tensor product = te::reduce("product", {rows, n}, {k}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
      return (*x)({i[0], r[0]}) * (*w)({r[0], i[1]});
    });
    program_.outputs = {product};
    TargetDesc narrow;
    narrow.vector_bytes = 16;
    return in_a_form(w, narrow);
  }
  // softmax(Q K^T + mask) V, with dimensions of V in any order, masks of minus infinity, and optionally a bias after
  // it.
  Program attention() {
    dtype_ = DType::float32();
    program_.is_close = true;
    auto size = [&](int64_t high) -> Expr {
      if (random_.chance(70)) return scalar::imm(random_.in(4, high));
      program_.symbols.push_back({scalar::var(format("n{}", program_.symbols.size())), random_.in(1, high)});
      return program_.symbols.back().first;
    };
    const Expr rows = size(70), keys = random_.chance(20) ? rows : size(90), batch = scalar::imm(random_.in(1, 3)),
               depth = scalar::imm(random_.in(1, 20)), columns = scalar::imm(random_.in(8, 40));
    const bool turned = random_.chance(50), causal = random_.chance(30), masked = random_.chance(50);
    te::Tensor q = new_placeholder({batch, rows, depth}),
               k = new_placeholder(turned ? Exprs{batch, depth, keys} : Exprs{batch, keys, depth}),
               v = new_placeholder({batch, keys, columns}), mask = new_placeholder({batch, keys});
    te::Tensor product =
        te::reduce("product", {batch, rows, keys}, {depth}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
          return (*q)({i[0], i[1], r[0]}) * (*k)(turned ? Exprs{i[0], r[0], i[2]} : Exprs{i[0], i[2], r[0]});
        });
    const Expr none = scalar::fimm(-std::numeric_limits<double>::infinity());
    te::Tensor score = te::compute("score", product->shape, [&](const Exprs& i) {
      Expr s = (*product)(i)*scalar::fimm(0.125);
      if (masked) s = s + scalar::select(scalar::lt((*mask)({i[0], i[2]}), number(-1)), none, number(0));
      return causal ? scalar::select(scalar::le(i[2], i[1]), s, none) : s;
    });
    auto row = [](const Exprs& i, const Expr& k) { return Exprs{i[0], i[1], k}; };
    te::Tensor max = te::reduce("max", {batch, rows}, {keys}, te::Combiner::Max,
                                [&](const Exprs& i, const Exprs& r) { return (*score)(row(i, r[0])); });
    te::Tensor exp = te::compute("exp", score->shape, [&](const Exprs& i) {
      return scalar::unary(scalar::UnaryOp::Exp, (*score)(i) - (*max)({i[0], i[1]}));
    });
    te::Tensor sum = te::reduce("sum", {batch, rows}, {keys}, te::Combiner::Sum,
                                [&](const Exprs& i, const Exprs& r) { return (*exp)(row(i, r[0])); });
    te::Tensor weight = te::compute("weight", score->shape, [&](const Exprs& i) {
      return scalar::binary(scalar::BinaryOp::Div, (*exp)(i), (*sum)({i[0], i[1]}));
    });
    te::Tensor out =
        te::reduce("out", {batch, rows, columns}, {keys}, te::Combiner::Sum,
                   [&](const Exprs& i, const Exprs& r) { return (*weight)(row(i, r[0])) * (*v)({i[0], r[0], i[2]}); });
    program_.outputs = {random_.chance(30) ? bias(out) : out};
    return program_;
  }
  // x normalised over the last axes, or over those after groups of a longer axis, and optionally the variance too.
  Program moments() {
    dtype_ = DType::float32();
    program_.is_close = true;
    auto size = [&](int64_t high) -> Expr { return scalar::imm(random_.in(1, high)); };
    const Expr rows = size(3), groups = size(3), part = size(3), height = size(12), width = size(70);
    const te::Tensor x = new_placeholder({rows, scalar::simplify(groups * part), height, width});
    const bool grouped = random_.chance(40);
    const te::Tensor data =
        !grouped ? x : te::compute("grouped", {rows, groups, part, height, width}, [&](const Exprs& i) {
          return (*x)({i[0], i[1] * part + i[2], i[3], i[4]});
        });
    const Exprs shape{data->shape[0], data->shape[1]}, summed(data->shape.begin() + 2, data->shape.end());
    Expr count = scalar::imm(1);
    for (const Expr& e : summed) count = scalar::simplify(count * e);
    const Expr share = scalar::fimm(1 / static_cast<double>(count->ivalue));
    auto at = [](Exprs i, const Exprs& k) {
      i.insert(i.end(), k.begin(), k.end());
      return i;
    };
    const te::Tensor sum = te::reduce("sum", shape, summed, te::Combiner::Sum,
                                      [&](const Exprs& i, const Exprs& k) { return (*data)(at(i, k)); });
    const te::Tensor mean = te::compute("mean", shape, [&](const Exprs& i) { return (*sum)(i)*share; });
    const te::Tensor squares =
        te::reduce("squares", shape, summed, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
          const Expr distance = (*data)(at(i, k)) - (*mean)(i);
          return distance * distance;
        });
    const te::Tensor variance = te::compute("variance", shape, [&](const Exprs& i) { return (*squares)(i)*share; });
    const te::Tensor out = te::compute("out", x->shape, [&](const Exprs& i) {
      const Exprs row = grouped ? Exprs{i[0], floordiv(i[1], part)} : Exprs{i[0], i[1]};
      return ((*x)(i) - (*mean)(row)) * scalar::unary(scalar::UnaryOp::Rsqrt, (*variance)(row) + number(1));
    });
    program_.outputs = {out};
    if (random_.chance(20)) program_.outputs.push_back(variance);
    return program_;
  }
  te::Tensor matmul(const te::Tensor& t) {
    const Expr& k = t->shape.back();
    Expr n = scalar::imm(random_.in(1, 50));
    bool transposed = random_.chance(50);
    te::Tensor w = random_.chance(70) ? new_weight(transposed ? Exprs{n, k} : Exprs{k, n})
                                      : new_placeholder(transposed ? Exprs{n, k} : Exprs{k, n});
    Exprs shape = t->shape;
    shape.back() = n;
    bound_ *= 3 * (is_static(k) ? k->ivalue : 11);
    return te::reduce("matmul", shape, {k}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
      Exprs at = i;
      at.back() = r[0];
      return (*t)(at) * (*w)(transposed ? Exprs{i.back(), r[0]} : Exprs{r[0], i.back()});
    });
  }
  te::Tensor reduce_axis(const te::Tensor& t, bool last = false) {
    size_t d =
        last || random_.chance(60) ? t->shape.size() - 1 : random_.in(0, static_cast<int64_t>(t->shape.size()) - 1);
    Exprs shape = t->shape;
    Expr extent = shape[d];
    shape.erase(shape.begin() + static_cast<int64_t>(d));
    bool max = random_.chance(50);
    if (!max) bound_ *= is_static(extent) ? extent->ivalue : 11;
    return te::reduce("row", shape, {extent}, max ? te::Combiner::Max : te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& r) {
                        Exprs at = i;
                        at.insert(at.begin() + static_cast<int64_t>(d), r[0]);
                        return (*t)(at);
                      });
  }
  // A reduction with several values: an extreme element and its index, or a sum and the greatest element. Either all of
  // them are used, before the other stages of the row, or one of them.
  te::Tensor several_values(const te::Tensor& t) {
    const int64_t rank = static_cast<int64_t>(t->shape.size());
    const size_t d = static_cast<size_t>(random_.aside(0, 2) ? rank - 1 : random_.aside(0, rank - 1));
    const int64_t kind = random_.aside(0, 6);
    const bool extreme = kind < 4, both = random_.aside(0, 9) < 7, rows = random_.aside(0, 11) < 3;
    Exprs shape = t->shape;
    const Expr extent = shape[d];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
    const te::Tensor best =
        te::reduce("best", shape, {extent}, extreme ? te::extreme(dtype_, kind < 2, kind % 2 == 1) : sum_and_max(),
                   [&](const Exprs& i, const Exprs& r) {
                     Exprs at = i;
                     at.insert(at.begin() + static_cast<std::ptrdiff_t>(d), r[0]);
                     return Exprs{(*t)(at), extreme ? scalar::cast(DType::int32(), r[0]) : (*t)(at)};
                   });
    bound_ = (extreme ? bound_ + 60 : bound_ * (is_static(extent) ? extent->ivalue + 1 : 12)) * (rows ? 2 : 1);
    auto value = [&](const Exprs& i) {
      const Expr second = scalar::cast(dtype_, te::value(best, i, 1));
      return both ? te::value(best, i, 0) + second : second;
    };
    if (!rows) return te::compute("value", shape, value);
    return te::compute("beside", t->shape, [&](const Exprs& i) {
      Exprs row = i;
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(d));
      return (*t)(i) + value(row);
    });
  }
  Ref<const te::Merge> sum_and_max() {
    te::Merge* m = new te::Merge;
    m->name = "sum_and_max";
    m->left = {scalar::var("a0", dtype_), scalar::var("a1", dtype_)};
    m->right = {scalar::var("b0", dtype_), scalar::var("b1", dtype_)};
    m->identity = {te::identity(te::Combiner::Sum, dtype_), te::identity(te::Combiner::Max, dtype_)};
    m->combined = {m->left[0] + m->right[0], scalar::max(m->left[1], m->right[1])};
    return Ref<const te::Merge>(m);
  }
  // The structure of softmax and normalisation: a row reduction followed by another pass over its rows, twice.
  te::Tensor centre(const te::Tensor& t) {
    te::Tensor r = reduce_axis(t, true);
    bound_ *= 2;
    te::Tensor c =
        te::compute("centred", t->shape, [&](const Exprs& i) { return (*t)(i) - (*r)(Exprs(i.begin(), i.end() - 1)); });
    if (random_.chance(50)) return c;
    te::Tensor s = reduce_axis(c, true);
    bound_ *= 2;
    return te::compute("scaled", t->shape,
                       [&](const Exprs& i) { return (*c)(i) + (*s)(Exprs(i.begin(), i.end() - 1)); });
  }
  te::Tensor move(const te::Tensor& t) {
    size_t rank = t->shape.size();
    if (rank >= 2 && random_.chance(60)) {
      size_t a = random_.in(0, static_cast<int64_t>(rank) - 2);
      Exprs shape = t->shape;
      std::swap(shape[a], shape[a + 1]);
      return te::compute("transposed", shape, [&](const Exprs& i) {
        Exprs at = i;
        std::swap(at[a], at[a + 1]);
        return (*t)(at);
      });
    }
    size_t d = random_.in(0, static_cast<int64_t>(rank) - 1);
    if (is_static(t->shape[d]) && t->shape[d]->ivalue % 2 == 0 && rank < 4 && random_.chance(40)) return blocks(t, d);
    if (random_.chance(50) || !is_static(t->shape[d]))
      return te::compute("flipped", t->shape, [&](const Exprs& i) {
        Exprs at = i;
        at[d] = t->shape[d] - 1 - i[d];
        return (*t)(at);
      });
    Exprs shape = t->shape;
    shape[d] = scalar::imm((t->shape[d]->ivalue + 1) / 2);
    return te::compute("strided", shape, [&](const Exprs& i) {
      Exprs at = i;
      at[d] = i[d] * 2;
      return (*t)(at);
    });
  }
  // A dimension split into blocks of two, modified, and merged.
  te::Tensor blocks(const te::Tensor& t, size_t d) {
    Exprs shape = t->shape;
    shape[d] = scalar::imm(t->shape[d]->ivalue / 2);
    shape.push_back(scalar::imm(2));
    te::Tensor blocked = te::compute("blocked", shape, [&](const Exprs& i) {
      Exprs at(i.begin(), i.end() - 1);
      at[d] = i[d] * 2 + i.back();
      return (*t)(at) + number(1);
    });
    bound_ += 1;
    return te::compute("unblocked", t->shape, [&](const Exprs& i) {
      Exprs at = i;
      at[d] = scalar::floordiv(i[d], scalar::imm(2));
      at.push_back(scalar::floormod(i[d], scalar::imm(2)));
      return (*blocked)(at);
    });
  }
  te::Tensor concatenate(const te::Tensor& t) {
    size_t d = random_.in(0, static_cast<int64_t>(t->shape.size()) - 1);
    te::Tensor other = new_placeholder(t->shape);
    Exprs shape = t->shape;
    shape[d] = shape[d] * 2;
    return te::compute("concat", shape, [&](const Exprs& i) {
      Exprs at = i;
      at[d] = i[d] - t->shape[d];
      return scalar::select(scalar::lt(i[d], t->shape[d]), (*t)(i), (*other)(at));
    });
  }

  Random& random_;
  Program program_;
  DType dtype_;
  int64_t bound_ = 3;
  int placeholders_ = 0;
  te::Tensors all_;
};

}  // namespace relay::fuzz
