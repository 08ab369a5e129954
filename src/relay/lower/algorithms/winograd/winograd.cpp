#include "relay/lower/algorithms/winograd/winograd.h"

#include <algorithm>
#include <cmath>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/group.h"
#include "relay/lower/schedule/nonzero.h"
#include "relay/machine/rates.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::fimm;
using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using te::Axis;
using Side = Winograd::Side;

// --- the matrices ----------------------------------------------------------------------------------------------------

// The product of (x - a) over the points but one, lowest power first.
static std::vector<double> product_of_roots(const std::vector<double>& points, size_t without) {
  std::vector<double> c{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == without) continue;
    c.push_back(0);
    for (size_t k = c.size(); k-- > 0;) c[k] = (k ? c[k - 1] : 0) - points[i] * c[k];
  }
  return c;
}

// Evaluation at the points and at infinity; G carries the divisions of the interpolation.
WinogradMatrices cook_toom(const std::vector<double>& points, Winograd::Side side) {
  const size_t n = static_cast<size_t>(side.points()), finite = points.size();
  auto powers = [](double point, int64_t count, double divisor) {
    std::vector<double> row;
    for (int64_t k = 0; k < count; ++k) row.push_back(std::pow(point, static_cast<double>(k)) / divisor);
    return row;
  };
  WinogradMatrices out;
  out.output.resize(static_cast<size_t>(side.m));
  for (size_t i = 0; i < finite; ++i) {
    std::vector<double> row = product_of_roots(points, i);
    row.resize(n);
    out.input.push_back(row);
    double divisor = 1;
    for (size_t j = 0; j < finite; ++j)
      if (j != i) divisor *= points[i] - points[j];
    out.weight.push_back(powers(points[i], side.r, divisor));
    const std::vector<double> column = powers(points[i], side.m, 1);
    for (size_t k = 0; k < column.size(); ++k) out.output[k].push_back(column[k]);
  }
  std::vector<double> last(static_cast<size_t>(side.r));
  last.back() = 1;
  out.input.push_back(product_of_roots(points, finite));
  out.weight.push_back(last);
  for (std::vector<double>& row : out.output) row.push_back(&row == &out.output.back() ? 1 : 0);
  return out;
}

WinogradMatrices winograd_matrices(Winograd::Side side) {
  switch (side.points()) {
    case 1: return cook_toom({}, side);
    case 4: return cook_toom({0, 1, -1}, side);
    // Fractions of few digits, with the least error.
    case 6: return cook_toom({0, 0.625, -0.625, 1.5, -1.5}, side);
    default:
      constexpr int64_t max_points = 8;  // of the last row
      RELAY_CHECK(side.points() == max_points, "no points for {} outputs of {} taps", side.m, side.r);
      return cook_toom({0, 0.5, -0.5, 1, -1, 2, -2}, side);
  }
}

// --- the convolution that is replaced --------------------------------------------------------------------------------

namespace {

std::optional<size_t> position(const std::vector<Axis>& axes, const Expr& var) {
  for (size_t d = 0; d < axes.size(); ++d)
    if (axes[d].var == var) return d;
  return std::nullopt;
}

int64_t known(const std::vector<Axis>& axes, const Expr& var) {
  std::optional<size_t> d = position(axes, var);
  return d ? extent_or(axes[*d], 0) : 0;
}

constexpr int64_t pair = 2;  // of numbers in 16 bits, which are multiplied at once

// A number that a short one stands for: float32(x).
const Expr& short_float(const Expr& e) {
  const bool widens = e->kind == scalar::Kind::Cast && e->dtype == DType::float32() && e->args[0]->dtype.is_float() &&
                      e->args[0]->dtype.bits < e->dtype.bits;
  return widens ? e->args[0] : e;
}

// Finds the factors of the sum.
bool find_factors(Convolution& conv, const std::set<std::string>& constants) {
  const te::Tensor& sum = conv.sum;
  auto is_load = [](const Expr& e) { return e->kind == scalar::Kind::Load && e->args.size() == 4; };
  auto is_weight = [&](const Expr& load) { return constants.count(load->source->name) > 0; };
  if (!conv.on_integers()) {
    conv.data = short_float(sum->body->args[0]), conv.weight = short_float(sum->body->args[1]);
    if (!is_load(conv.data) || !is_load(conv.weight)) return false;
    if (!is_weight(conv.weight)) std::swap(conv.data, conv.weight);
    return is_weight(conv.weight);
  }
  std::optional<ByteFactor> data = byte_factor(sum->body->args[0]), weight = byte_factor(sum->body->args[1]);
  if (!data || !weight || !is_load(data->load) || !is_load(weight->load)) return false;
  if (!is_weight(weight->load)) std::swap(data, weight);
  conv.data = data->load, conv.zero_point = data->zero_point, conv.weight = weight->load;
  return is_weight(conv.weight) && conv.weight->dtype == DType::int8() && !weight->zero_point;
}

std::optional<Convolution> match(const te::Tensor& sum, const std::set<std::string>& constants) {
  if (sum->combiner != te::Combiner::Sum || (sum->dtype != DType::float32() && sum->dtype != DType::int32()) ||
      sum->axes.size() != 4 || sum->reduce_axes.size() != 3 || sum->body->kind != scalar::Kind::Binary ||
      sum->body->binary != scalar::BinaryOp::Mul)
    return std::nullopt;
  Convolution conv;
  conv.sum = sum;
  if (!find_factors(conv, constants)) return std::nullopt;

  // The data: [n, c, y + ky, x + kx] in some order. A window is a data axis plus a reduction axis.
  Exprs vars;
  for (const Axis& a : sum->axes) vars.push_back(a.var);
  for (const Axis& a : sum->reduce_axes) vars.push_back(a.var);
  int windows = 0, plain = 0, reduced = 0;
  for (size_t d = 0; d < 4; ++d) {
    std::optional<scalar::Affine> index = scalar::as_affine(conv.data->args[d], vars);
    if (!index || !scalar::is_int(index->rest, 0)) return std::nullopt;
    Expr own, k;
    int64_t dilation = 1;
    for (size_t v = 0; v < vars.size(); ++v) {
      if (index->coefficients[v] == 0) continue;
      Expr& slot = v < sum->axes.size() ? own : k;
      const int64_t step = index->coefficients[v];
      if (step < 1 || (step > 1 && v < sum->axes.size()) || slot) return std::nullopt;
      slot = vars[v];
      if (v >= sum->axes.size()) dilation = step;
    }
    if (own && k) {
      int64_t taps = known(sum->reduce_axes, k);
      if (windows == 0)
        conv.y = *position(sum->axes, own), conv.ky = k, conv.data_y = d, conv.taps_y = taps,
        conv.dilation_y = dilation;
      if (windows == 1)
        conv.x = *position(sum->axes, own), conv.kx = k, conv.data_x = d, conv.taps_x = taps,
        conv.dilation_x = dilation;
      ++windows;
    } else if (own) {
      conv.n = *position(sum->axes, own), conv.data_n = d, ++plain;
    } else if (k && dilation == 1) {
      conv.c = k, conv.data_c = d, ++reduced;
    }
  }
  if (windows != 2 || plain != 1 || reduced != 1) return std::nullopt;
  conv.o = (0 + 1 + 2 + 3) - conv.n - conv.y - conv.x;

  // The weight: c, ky, kx and the remaining axis, each alone in a dimension.
  Exprs wanted{sum->axes[conv.o].var, conv.c, conv.ky, conv.kx};
  for (const Expr& v : wanted)
    if (std::count(conv.weight->args.begin(), conv.weight->args.end(), v) != 1) return std::nullopt;

  conv.channels = known(sum->reduce_axes, conv.c);
  conv.outputs = extent_or(sum->axes[conv.o], 0);
  conv.height = extent_or(sum->axes[conv.y], 0), conv.width = extent_or(sum->axes[conv.x], 0);
  if (conv.channels == 0 || conv.outputs == 0 || conv.height == 0 || conv.width == 0) return std::nullopt;
  if (conv.on_integers() && conv.channels % pair != 0) return std::nullopt;
  return conv;
}

// --- profitability ---------------------------------------------------------------------------------------------------

// The fraction of the taps that the direct sum multiplies: it leaves out taps in the padding if there are many.
double read_taps(const Convolution& c) {
  double part = 1;
  for (size_t d : {c.y, c.x}) {
    const te::Axis& axis = c.sum->axes[d];
    std::set<std::string> sums;
    part *= mean_part(taps_inside(*c.sum, axis.var->name, sums), extent_or(axis, 1));
  }
  constexpr double of_other_rows = 1.1;  // a tile's rows read the taps that any of them needs
  part *= of_other_rows;
  return part < surely_less ? part : 1;
}

double whole_vectors(int64_t outputs, const TargetDesc& t) {
  const int64_t lanes = float_lanes(t);
  return static_cast<double>((outputs + lanes - 1) / lanes * lanes);
}

double pairs_rate(const TargetDesc& t) {
  return machine::relative_rate(t, DType::int16(), DType::int16(), DType::int32());
}

// True if bytes are multiplied in pairs of 16 bits on the machine. Where they have an instruction that is exact for all
// of them, none was measured.
bool multiplies_pairs(const TargetDesc& t) {
  for (const DType data : {DType::int8(), DType::uint8()})
    for (const machine::Registers registers : {machine::Registers::Vector, machine::Registers::Tile}) {
      const machine::Instruction* found =
          machine::fastest_instruction(t, data, DType::int8(), DType::int32(), registers).instruction;
      if (found && !found->short_sums) return false;
    }
  return pairs_rate(t) > 0;
}

// Nanoseconds per image: multiply-adds at the measured share of the peak, then the time to stream the weights from
// their cache or memory. Short numbers may be multiplied by an instruction of their own.
double direct_ns(const Convolution& c, const TargetDesc& t) {
  const double macs =
      static_cast<double>(c.taps_y * c.taps_x * c.channels * c.height * c.width) * whole_vectors(c.outputs, t);
  double faster = c.on_integers() ? pairs_rate(t) : 1;
  for (const machine::Registers registers : {machine::Registers::Vector, machine::Registers::Tile})
    faster = std::max(faster, machine::relative_rate(t, c.data->dtype, c.weight->dtype, c.sum->dtype, registers));
  return read_taps(c) * multiply_adds_ns(t, macs) / (convolution_share * faster);
}

double streamed_ns(double bytes, const TargetDesc& t) { return stays_in_l2(t, bytes) ? 0 : beyond_l2_ns(t, bytes); }

double winograd_ns(const Convolution& c, Side y, Side x, const TargetDesc& t) {
  constexpr double operations = 4, bytes = 8;  // of a transform, per element and direction; stored and loaded
  double positions = static_cast<double>(y.points() * x.points());
  double tiles = static_cast<double>(y.tiles(c.height) * x.tiles(c.width));
  double in = static_cast<double>(c.channels), out = whole_vectors(c.outputs, t);
  double multiply = multiply_adds_ns(t, tiles * positions * in * out) / winograd_share;
  double directions = (y.r > 1) + (x.r > 1);
  const double short_part = c.on_integers() ? 0.5 : 1;  // vectors of numbers in 16 bits
  if (c.on_integers()) multiply /= pairs_rate(t);
  double transforms = multiply_adds_ns(t, tiles * positions * operations * directions * (in * short_part + out));
  double separate =
      y.dilation * x.dilation == 1 ? 0 : tiles * static_cast<double>(y.m * x.m) * out * bytes / beyond_l2_gbps(t);
  return multiply + transforms + separate + streamed_ns(positions * in * out * 4 * short_part, t);
}

// --- the stages ------------------------------------------------------------------------------------------------------

class Rewriter {
 public:
  Rewriter(const Convolution& conv, Side y, Side x)
      : conv_(conv),
        y_(y),
        x_(x),
        along_y_(conv.on_integers() ? integer_matrices(y) : winograd_matrices(y)),
        along_x_(conv.on_integers() ? integer_matrices(x) : winograd_matrices(x)),
        number_(conv.on_integers() ? DType::int16() : DType::float32()) {
    names_.y = y, names_.x = x, names_.channels = static_cast<int>(conv.data_c), names_.in_pairs = conv.on_integers();
    tiles_y_ = imm(y.tiles(conv.height)), tiles_x_ = imm(x.tiles(conv.width));
    channels_ = imm(conv.channels), outputs_ = imm(conv.outputs), batch_ = conv.sum->axes[conv.n].extent;
    points_y_ = imm(y.points()), points_x_ = imm(x.points());
  }

  te::Tensor result() {
    te::Tensor tiles = output_transform(product(input_transform(whole_tiles()), weight_transform()));
    te::TensorNode node = *conv_.sum;  // keeps its axes, so that readers stay unchanged
    node.combiner = te::Combiner::None, node.reduce_axes.clear();
    const Expr &n = node.axes[conv_.n].var, &y = node.axes[conv_.y].var, &x = node.axes[conv_.x].var,
               &o = node.axes[conv_.o].var;
    auto in_tiles = [&](const Expr& row, const Expr& column) {
      return (*tiles)({n, floordiv(row, imm(y_.m)), floordiv(column, imm(x_.m)), floormod(row, imm(y_.m)),
                       floormod(column, imm(x_.m)), o});
    };
    if (y_.dilation * x_.dilation == 1) {
      node.body = in_tiles(y, x);
      names_.result = node.name;
      return te::Tensor(new te::TensorNode(std::move(node)));
    }
    te::TensorNode side = node;
    side.name = names_.result = name("side_by_side");
    auto grow = [&](size_t d, Side s, const Expr& tiles_along) {
      const std::string axis = side.axes[d].var->name;
      side.axes[d] = new_axis(axis.c_str(), scalar::simplify(tiles_along * s.m));
      side.shape[d] = side.axes[d].extent;
    };
    grow(conv_.y, y_, tiles_y_), grow(conv_.x, x_, tiles_x_);
    side.body = in_tiles(side.axes[conv_.y].var, side.axes[conv_.x].var);
    const te::Tensor all(new te::TensorNode(std::move(side)));
    Exprs at;
    for (const Axis& a : node.axes) at.push_back(a.var);
    at[conv_.y] = in_side_by_side(y, y_, conv_.height), at[conv_.x] = in_side_by_side(x, x_, conv_.width);
    node.body = (*all)(at);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }
  const Winograd& names() const { return names_; }

 private:
  std::string name(const char* part) const { return format("{}_{}", conv_.sum->name, part); }

  // The place of result `at` of a direction if the interleaved images are put side by side, each in whole tiles.
  static Expr in_side_by_side(const Expr& at, Side s, int64_t extent) {
    if (s.dilation == 1) return at;
    return floormod(at, imm(s.dilation)) * (s.tiles_of_one(extent) * s.m) + floordiv(at, imm(s.dilation));
  }

  // The first row of data that tile `t` of a direction reads; the others follow at distance `dilation`.
  static Expr first_row(const Expr& t, Side s, int64_t extent) {
    if (s.dilation == 1) return t * s.m;
    const Expr of_one = imm(s.tiles_of_one(extent));
    return floormod(t, of_one) * (s.m * s.dilation) + floordiv(t, of_one);
  }

  // The data as read by whole tiles. If the convolution pads, its padding grows; a stage of the same form, so that the
  // halo of the array behind it can replace it.
  te::Tensor whole_tiles() {
    te::Tensor data(dynamic_cast<const te::TensorNode*>(conv_.data->source.get()));
    Expr height = scalar::simplify(tiles_y_ * y_.m + (y_.r - 1) * y_.dilation),
         width = scalar::simplify(tiles_x_ * x_.m + (x_.r - 1) * x_.dilation);
    Expr given_height = scalar::simplify(data->shape[conv_.data_y]),
         given_width = scalar::simplify(data->shape[conv_.data_x]);
    std::optional<Guarded> guard = guarded(*data);
    if (guard && guard->otherwise != 0 && !conv_.on_integers()) guard.reset();
    if (guard) names_.padded = data->name;
    names_.data = guard ? te::Tensor(dynamic_cast<const te::TensorNode*>(guard->value->source.get())) : data;
    if (scalar::equal(height, given_height) && scalar::equal(width, given_width)) return data;
    std::vector<Axis> axes;
    Exprs at;
    std::vector<scalar::Binding> renamed;
    for (size_t d = 0; d < 4; ++d) {
      Expr extent = d == conv_.data_y ? height : d == conv_.data_x ? width : data->shape[d];
      axes.push_back(new_axis(d == conv_.data_y   ? "y"
                              : d == conv_.data_x ? "x"
                              : d == conv_.data_c ? "c"
                                                  : "n",
                              extent));
      at.push_back(axes[d].var);
      if (guard) renamed.push_back({data->axes[d].var, axes[d].var});
    }
    Expr inside =
        scalar::logical_and(scalar::lt(at[conv_.data_y], given_height), scalar::lt(at[conv_.data_x], given_width));
    if (guard) inside = scalar::logical_and(scalar::substitute(guard->condition, renamed), inside);
    Expr value = guard ? scalar::substitute(guard->value, renamed) : scalar::load(data, at);
    names_.padded = guard ? data->name : name("padded");
    const Expr outside =
        guard ? scalar::imm(static_cast<int64_t>(guard->otherwise), data->dtype) : scalar::imm(0, data->dtype);
    return new_stage(names_.padded, axes, scalar::select(inside, value, outside));
  }

  te::Tensor input_transform(const te::Tensor& data) {
    Axis p = new_axis("p", points_y_), n = new_axis("n", batch_), ty = new_axis("ty", tiles_y_),
         tx = new_axis("tx", tiles_x_), j = new_axis("j", points_x_), c = new_axis("c", channels_);
    Exprs column;
    for (int64_t i = 0; i < y_.points(); ++i) {
      Exprs at(4);
      at[conv_.data_n] = n.var, at[conv_.data_c] = c.var;
      at[conv_.data_y] = first_row(ty.var, y_, conv_.height) + i * y_.dilation;
      at[conv_.data_x] = first_row(tx.var, x_, conv_.width) + j.var * x_.dilation;
      const Expr value = scalar::cast(number_, scalar::load(data, at));
      column.push_back(conv_.zero_point ? value - conv_.zero_point : value);
    }
    names_.input_rows = name("input_rows");
    te::Tensor rows = new_stage(names_.input_rows, {p, n, ty, tx, j, c}, transformed(along_y_.input, p.var, column));
    Axis p2 = new_axis("p", points_y_), q = new_axis("q", points_x_), n2 = new_axis("n", batch_),
         ty2 = new_axis("ty", tiles_y_), tx2 = new_axis("tx", tiles_x_), c2 = new_axis("c", channels_);
    Exprs row;
    for (int64_t i = 0; i < x_.points(); ++i)
      row.push_back((*rows)({p2.var, n2.var, ty2.var, tx2.var, imm(i), c2.var}));
    names_.input = name("input");
    return new_stage(names_.input, {p2, q, n2, ty2, tx2, c2}, transformed(along_x_.input, q.var, row));
  }

  te::Tensor weight_transform() {
    Axis p = new_axis("p", points_y_), kx = new_axis("kx", imm(x_.r)), c = new_axis("c", channels_),
         o = new_axis("o", outputs_);
    const Expr& own_o = conv_.sum->axes[conv_.o].var;
    Exprs taps;
    for (int64_t ky = 0; ky < y_.r; ++ky)
      taps.push_back(scalar::cast(
          number_, scalar::substitute(conv_.weight,
                                      {{conv_.ky, imm(ky)}, {conv_.kx, kx.var}, {conv_.c, c.var}, {own_o, o.var}})));
    names_.weight_rows = name("weight_rows");
    te::Tensor half = new_stage(names_.weight_rows, {p, kx, c, o}, transformed(along_y_.weight, p.var, taps));
    Axis p2 = new_axis("p", points_y_), q = new_axis("q", points_x_), c2 = new_axis("c", channels_),
         o2 = new_axis("o", outputs_);
    Exprs row;
    for (int64_t k = 0; k < x_.r; ++k) row.push_back((*half)({p2.var, imm(k), c2.var, o2.var}));
    names_.weight = name("weight");
    return new_stage(names_.weight, {p2, q, c2, o2}, transformed(along_x_.weight, q.var, row));
  }

  te::Tensor product(const te::Tensor& input, const te::Tensor& weight) {
    Axis p = new_axis("p", points_y_), q = new_axis("q", points_x_), n = new_axis("n", batch_),
         ty = new_axis("ty", tiles_y_), tx = new_axis("tx", tiles_x_), o = new_axis("o", outputs_),
         c = new_axis("c", imm(conv_.on_integers() ? conv_.channels / pair : conv_.channels));
    te::TensorNode node;
    node.name = names_.product = name("product"), node.dtype = conv_.sum->dtype, node.combiner = te::Combiner::Sum;
    node.axes = {p, q, n, ty, tx, o}, node.reduce_axes = {c};
    for (const Axis& a : node.axes) node.shape.push_back(a.extent);
    auto of_input = [&](const Expr& k) { return (*input)({p.var, q.var, n.var, ty.var, tx.var, k}); };
    auto of_weight = [&](const Expr& k) { return (*weight)({p.var, q.var, k, o.var}); };
    const Expr first = c.var * pair, second = first + 1;
    node.body = conv_.on_integers() ? scalar::dot(node.dtype, {of_input(first), of_input(second)},
                                                  {of_weight(first), of_weight(second)})
                                    : of_input(c.var) * of_weight(c.var);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }

  te::Tensor output_transform(const te::Tensor& product) {
    Axis n = new_axis("n", batch_), ty = new_axis("ty", tiles_y_), tx = new_axis("tx", tiles_x_),
         i = new_axis("i", imm(y_.m)), q = new_axis("q", points_x_), o = new_axis("o", outputs_);
    Exprs column;
    for (int64_t p = 0; p < y_.points(); ++p)
      column.push_back((*product)({imm(p), q.var, n.var, ty.var, tx.var, o.var}));
    names_.output_rows = name("output_rows");
    te::Tensor columns =
        new_stage(names_.output_rows, {n, ty, tx, i, q, o}, transformed(along_y_.output, i.var, column));
    Axis n2 = new_axis("n", batch_), ty2 = new_axis("ty", tiles_y_), tx2 = new_axis("tx", tiles_x_),
         i2 = new_axis("i", imm(y_.m)), j = new_axis("j", imm(x_.m)), o2 = new_axis("o", outputs_);
    Exprs row;
    for (int64_t k = 0; k < x_.points(); ++k)
      row.push_back((*columns)({n2.var, ty2.var, tx2.var, i2.var, imm(k), o2.var}));
    names_.tiles = name("tiles");
    const Expr sums = transformed(along_x_.output, j.var, row);
    return new_stage(names_.tiles, {n2, ty2, tx2, i2, j, o2},
                     conv_.on_integers() ? without_scale(sums, {y_, x_}) : sums);
  }

  const Convolution& conv_;
  Side y_, x_;
  WinogradMatrices along_y_, along_x_;
  DType number_;  // of transformed data and weights
  Winograd names_;
  Expr tiles_y_, tiles_x_, channels_, outputs_, batch_, points_y_, points_x_;
};

}  // namespace

// If both directions have a window, the transforms' errors multiply: then at most six points.
static std::vector<WinogradTile> tiles_of(const Convolution& conv) {
  auto along = [&](int64_t taps, int64_t dilation, int64_t other) -> std::vector<Side> {
    if (taps == 1) return {{1, 1}};
    if (taps == 3) return {{2, 3, dilation}, {4, 3, dilation}};
    if (conv.on_integers()) return {};  // factors of the weight do not fit into 16 bits
    // 7 in one direction only: eight points.
    if (taps == 5 || (taps == 7 && other == 1)) return {{2, taps, dilation}};
    return {};
  };
  std::vector<WinogradTile> out;
  if (conv.taps_y * conv.taps_x == 1) return out;
  for (Side y : along(conv.taps_y, conv.dilation_y, conv.taps_x))
    for (Side x : along(conv.taps_x, conv.dilation_x, conv.taps_y)) out.push_back({y, x});
  return out;
}

std::optional<Convolution> match_winograd(const te::Tensors& outputs, const std::set<std::string>& constants) {
  const te::Tensor sum = only_reduction(outputs);
  std::optional<Convolution> conv = sum ? match(sum, constants) : std::nullopt;
  if (conv) conv->tiles = tiles_of(*conv);
  return conv && !conv->tiles.empty() ? conv : std::nullopt;
}

std::optional<WinogradChoice> choose_winograd(const Convolution& conv, const TargetDesc& target) {
  // Few channels leave lanes empty, or the transforms cost more than is saved.
  const int64_t lanes = float_lanes(target);
  if (conv.channels < lanes || conv.outputs < lanes) return std::nullopt;
  if (conv.on_integers() && !multiplies_pairs(target)) return std::nullopt;
  const double direct = direct_ns(conv, target);
  double best_ns = surely_less * direct;
  std::optional<WinogradChoice> best;
  for (const WinogradTile& tile : conv.tiles) {
    const double ns = winograd_ns(conv, tile.y, tile.x, target);
    if (ns >= best_ns) continue;
    best_ns = ns;
    const int64_t bytes = conv.on_integers() ? DType::int16().bytes() : DType::float32().bytes();
    best = {tile, {direct - ns, tile.y.points() * tile.x.points() * conv.channels * conv.outputs * bytes}};
  }
  return best;
}

Winograd rewrite_winograd(te::Tensors& outputs, const Convolution& conv, const WinogradTile& tile) {
  Rewriter rewriter(conv, tile.y, tile.x);
  te::Tensor result = rewriter.result();
  outputs = te::replace(outputs, {{conv.sum, result}});
  return rewriter.names();
}

}  // namespace relay::lower
