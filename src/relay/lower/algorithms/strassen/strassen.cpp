#include "relay/lower/algorithms/strassen/strassen.h"

#include <algorithm>
#include <array>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using te::Axis;

const Matrix& weight_sums() {
  static const Matrix sums{{1, -1, -1, 1}, {-1, 1, 0, 0}, {1, -1, 0, 1}, {0, -1, 0, 1}};
  return sums;
}
const std::vector<int64_t>& quarter_order() {
  static const std::vector<int64_t> order{0, 2, 3, 1};
  return order;
}
const QuarterProducts& strassen_products() {
  static const QuarterProducts products{
      .left = {{0, 0, 0, 1}, {0, 0, 1, 1}, {-1, 0, 1, 1}, {1, 0, -1, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, -1, -1}},
      .out = {{0, 0, 0, 0, 1, 1, 0}, {0, 1, 1, 0, 1, 0, 1}, {-1, 0, 1, 1, 1, 0, 0}, {0, 1, 1, 1, 1, 0, 0}},
      .of_sums = 4};
  return products;
}
const QuarterProducts& direct_products() {
  static const QuarterProducts products{
      .left = {{1, 0, 0, 0},
               {0, 1, 0, 0},
               {0, 1, 0, 0},
               {1, 0, 0, 0},
               {0, 0, 1, 0},
               {0, 0, 0, 1},
               {0, 0, 0, 1},
               {0, 0, 1, 0}},
      .out = {{1, 1, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 1, 0, 0}, {0, 0, 0, 0, 0, 0, 1, 1}},
      .of_sums = 0};
  return products;
}

namespace {

std::optional<Product> match(const te::Tensor& sum, const std::set<std::string>& constants) {
  if (sum->combiner != te::Combiner::Sum || sum->dtype != DType::float32() || sum->reduce_axes.size() != 1 ||
      sum->body->kind != scalar::Kind::Binary || sum->body->binary != scalar::BinaryOp::Mul)
    return std::nullopt;
  Product out;
  out.sum = sum, out.data = sum->body->args[0], out.weight = sum->body->args[1], out.k = sum->reduce_axes[0].var;
  for (const Expr& load : {out.data, out.weight})
    if (load->kind != scalar::Kind::Load) return std::nullopt;
  if (!constants.count(out.weight->source->name)) std::swap(out.data, out.weight);
  if (!constants.count(out.weight->source->name)) return std::nullopt;
  // Each index is a single axis, or belongs to an axis of one element.
  auto count = [](const Expr& load, const Expr& var) { return std::count(load->args.begin(), load->args.end(), var); };
  if (count(out.data, out.k) != 1 || count(out.weight, out.k) != 1 || out.weight->args.size() != 2) return std::nullopt;
  int rows = 0, columns = 0;
  for (size_t d = 0; d < sum->axes.size(); ++d) {
    const Axis& a = sum->axes[d];
    if (scalar::is_int(a.extent, 1)) continue;
    if (count(out.data, a.var) == 1 && count(out.weight, a.var) == 0)
      out.m = d, ++rows;
    else if (count(out.data, a.var) == 0 && count(out.weight, a.var) == 1)
      out.n = d, ++columns;
    else
      return std::nullopt;
  }
  if (rows != 1 || columns != 1 || out.n + 1 != sum->axes.size()) return std::nullopt;
  for (const Expr& i : out.data->args)
    if (!scalar::is_int(i) && i != out.k &&
        std::none_of(sum->axes.begin(), sum->axes.end(), [&](const Axis& a) { return a.var == i; }))
      return std::nullopt;
  out.rows = extent_or(sum->axes[out.m], 0), out.columns = extent_or(sum->axes[out.n], 0);
  out.terms = extent_or(sum->reduce_axes[0], 0);
  return out;
}

// Multiply-adds at the measured share of the peak: Strassen's form takes seven eighths of them, plus cycles for each
// vector of the data's sums and of the results' (a store and a load per product, ten sums).
double direct_ns(const Product& p, const TargetDesc& t) {
  return multiply_adds_ns(t, static_cast<double>(p.rows * p.terms * p.columns)) / product_share;
}
double strassen_ns(const Product& p, const TargetDesc& t) {
  constexpr double cycles_of_data = 8, cycles_of_result = 24;  // counted in the assembly listing
  const double rows = static_cast<double>((p.rows + 1) / 2), terms = static_cast<double>(p.terms / 2),
               columns = static_cast<double>(p.columns / 2), lanes = static_cast<double>(float_lanes(t));
  return multiply_adds_ns(t, static_cast<double>(products_of_strassen) * rows * terms * columns) / strassen_share +
         (rows * terms * cycles_of_data + rows * columns * cycles_of_result) / lanes / t.ghz;
}

class Rewriter {
 public:
  Rewriter(const Product& product, int64_t block)
      : product_(product), block_(block), rows_(imm((product.rows + 1) / 2)), terms_(product.terms / 2) {
    pairs_ = imm(product.columns / (2 * block)), columns_ = imm(block);
  }

  te::Tensor quarters() const {
    const auto [p, b, k, r] = weight_axes();
    Exprs quarters;
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t j = 0; j < 2; ++j)
        quarters.push_back(load(product_.weight, product_.sum->axes[product_.n].var,
                                b.var * (2 * block_) + j * block_ + r.var, k.var + half * terms_));
    Matrix one_each;
    for (int64_t quarter : quarter_order()) one_each.emplace_back(4)[static_cast<size_t>(quarter)] = 1;
    return new_stage(name("quarters"), {p, b, k, r}, transformed(one_each, p.var, quarters));
  }

  te::Tensor sums(const te::Tensor& quarters) const {
    const auto [p, b, k, r] = weight_axes();
    Exprs values(4);
    for (int64_t at = 0; at < 4; ++at)
      values[static_cast<size_t>(quarter_order()[static_cast<size_t>(at)])] =
          (*quarters)({imm(at), b.var, k.var, r.var});
    return new_stage(name("weight"), {p, b, k, r}, transformed(weight_sums(), p.var, values));
  }

  te::Tensor left(const QuarterProducts& products) const {
    const Axis p = each(products), t = new_axis("t", rows_), k = new_axis("k", imm(terms_));
    Exprs quarters;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t half = 0; half < 2; ++half) {
        Expr row = t.var * 2 + i,
             value = load(product_.data, product_.sum->axes[product_.m].var, row, k.var + half * terms_);
        // With an odd number of rows the last one has no neighbour.
        if (i == 1 && product_.rows % 2)
          value = scalar::select(scalar::lt(row, imm(product_.rows)), value, scalar::fimm(0));
        quarters.push_back(value);
      }
    return new_stage(name("left"), {p, t, k}, transformed(products.left, p.var, quarters));
  }

  te::Tensor result(const QuarterProducts& products, const te::Tensor& left, const te::Tensor& quarters,
                    const te::Tensor& sums) const {
    const int64_t count = static_cast<int64_t>(products.left.size()), of_sums = products.of_sums;
    const Axis t = new_axis("t", rows_), i = new_axis("i", imm(2)), j = new_axis("j", imm(2)),
               b = new_axis("b", pairs_), r = new_axis("r", columns_);
    Exprs values;
    auto read = [&](const te::Tensor& product, int64_t products_of_it) {
      for (int64_t p = 0; p < products_of_it; ++p) values.push_back((*product)({imm(p), t.var, b.var, r.var}));
    };
    if (of_sums > 0) read(multiply("sums_product", of_sums, left, 0, sums), of_sums);
    read(multiply("product", count - of_sums, left, of_sums, quarters), count - of_sums);
    const te::Tensor tiles =
        new_stage(name("tiles"), {t, i, j, b, r}, transformed(products.out, i.var * 2 + j.var, values));
    te::TensorNode node = *product_.sum;  // keeps its axes, so that readers stay unchanged
    node.combiner = te::Combiner::None, node.reduce_axes.clear();
    const Expr &m = node.axes[product_.m].var, &n = node.axes[product_.n].var;
    node.body = (*tiles)({floordiv(m, imm(2)), floormod(m, imm(2)), floormod(floordiv(n, columns_), imm(2)),
                          floordiv(n, imm(2 * block_)), floormod(n, columns_)});
    return te::Tensor(new te::TensorNode(std::move(node)));
  }

  Strassen names(const QuarterProducts& products) const {
    Strassen out{.block = block_, .left = name("left"), .tiles = name("tiles"), .result = product_.sum->name};
    if (products.of_sums > 0) out.parts.push_back({name("sums_product"), name("weight")});
    out.parts.push_back({name("product"), name("quarters")});
    return out;
  }

 private:
  std::string name(const char* part) const { return format("{}_{}", product_.sum->name, part); }
  Expr load(const Expr& given, const Expr& own, const Expr& at, const Expr& k) const {
    std::vector<scalar::Binding> bindings{{product_.k, k}};
    for (const Axis& a : product_.sum->axes) bindings.push_back({a.var, a.var == own ? at : imm(0)});
    return scalar::substitute(given, bindings);
  }
  static Axis each(const QuarterProducts& products) {
    return new_axis("p", imm(static_cast<int64_t>(products.left.size())));
  }

  std::array<Axis, 4> weight_axes() const {
    return {new_axis("p", imm(4)), new_axis("b", pairs_), new_axis("k", imm(terms_)), new_axis("r", columns_)};
  }

  // Multiplies `count` sums of data, from `first` on, by the parts of `weight` in turn.
  te::Tensor multiply(const char* part, int64_t count, const te::Tensor& left, int64_t first,
                      const te::Tensor& weight) const {
    const Axis p = new_axis("p", imm(count)), t = new_axis("t", rows_), b = new_axis("b", pairs_),
               r = new_axis("r", columns_), k = new_axis("k", imm(terms_));
    te::TensorNode node;
    node.name = name(part), node.dtype = DType::float32(), node.combiner = te::Combiner::Sum;
    node.axes = {p, t, b, r}, node.reduce_axes = {k};
    for (const Axis& a : node.axes) node.shape.push_back(a.extent);
    const Expr of = scalar::simplify(p.var + first), slot = count > 4 ? floormod(p.var, imm(4)) : p.var;
    node.body = (*left)({of, t.var, k.var}) * (*weight)({slot, b.var, k.var, r.var});
    return te::Tensor(new te::TensorNode(std::move(node)));
  }

  const Product& product_;
  int64_t block_;
  Expr rows_, pairs_, columns_;
  int64_t terms_;
};

}  // namespace

Layout layout_of_weight() {
  Layout layout;
  layout.dims = {{1}, {0}, {2}, {3}};
  return layout;
}
Layout layout_of_left(const te::TensorNode& left) {
  Layout layout = Layout::row_major(3);
  layout.row_padding = row_padding_behind(left.shape.back(), DType::float32());
  return layout;
}

std::optional<Product> match_strassen(const te::Tensors& outputs, const std::set<std::string>& constants,
                                      const TargetDesc& target) {
  const te::Tensor sum = only_reduction(outputs);
  std::optional<Product> product = sum ? match(sum, constants) : std::nullopt;
  if (!product || product->rows < 2 || product->terms < 2 || product->terms % 2) return std::nullopt;
  // Two vectors of columns per register tile, as in contractions.
  const int64_t block = product->block = 2 * std::max(1, target.vector_bytes / 4);
  if (product->columns < 2 * block || product->columns % (2 * block)) return std::nullopt;
  return product;
}

std::optional<Gain> estimate_strassen(const Product& product, const TargetDesc& target) {
  const double direct = direct_ns(product, target), seven = strassen_ns(product, target);
  if (seven > likely_less * direct) return std::nullopt;
  return Gain{direct - seven, product.terms * product.columns * 4};
}

StrassenForms rewrite_strassen(const te::Tensors& outputs, const Product& product, bool with_direct) {
  const Rewriter rewriter(product, product.block);
  StrassenForms forms;
  forms.seven_names = rewriter.names(strassen_products()), forms.direct_names = rewriter.names(direct_products());
  forms.data = te::Tensor(dynamic_cast<const te::TensorNode*>(product.data->source.get()));
  auto operand = [](const te::Tensor& value) {
    return StrassenOperand{te::placeholder(value->name, value->shape, DType::float32()), value};
  };
  forms.quarters = operand(rewriter.quarters());
  forms.sums = operand(rewriter.sums(forms.quarters.param));
  forms.left = operand(rewriter.left(strassen_products()));
  auto form = [&](const QuarterProducts& products, const te::Tensor& left) {
    return te::replace(outputs,
                       {{product.sum, rewriter.result(products, left, forms.quarters.param, forms.sums.param)}});
  };
  forms.seven = form(strassen_products(), forms.left.param);
  if (with_direct) forms.direct = form(direct_products(), rewriter.left(direct_products()));
  return forms;
}

}  // namespace relay::lower
