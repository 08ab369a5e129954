// vision.roi_pool: the maxima of a grid of pooled_size in each region of an image
//
// A region is (batch, x1, y1, x2, y2) in units of its source image; spatial_scale converts it to data, rounded to whole
// pixels, the last ones included. Cell (i, j) has the rows from floor(i * h / PH) to before ceil((i + 1) * h / PH) of
// the h rows of the region, and the columns likewise, as far as they are in data; a cell without pixels is 0.
#include <limits>

#include "relay/op/gradient.h"
#include "relay/op/loops.h"
#include "relay/op/vision/regions.h"

namespace relay::ops {
namespace roi_pool_cpp {
namespace {

struct ROIPoolAttrs {
  Ints pooled_size;
  double spatial_scale = 1;
  std::string layout = "NCHW";
  static constexpr auto fields =
      std::tuple{required_field("pooled_size", &ROIPoolAttrs::pooled_size, "Height and width of the result."),
                 required_field("spatial_scale", &ROIPoolAttrs::spatial_scale, "Pixels of data per unit of regions."),
                 field("layout", &ROIPoolAttrs::layout, "\"NCHW\".")};
};

Result<Type> infer(const ROIPoolAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(vision::check_regions(in, a.layout));  // (C1) (C2)
  const TensorType *data = as<TensorType>(in[0]), *rois = as<TensorType>(in[1]);
  // (C3) The grid has two sizes.
  if (a.pooled_size.size() != 2) return constraint("C3", "pooled_size {} should be two extents", text(a.pooled_size));
  RELAY_RETURN_IF_ERROR(per_axis("C3", "pooled_size", a.pooled_size, 2));
  return ir::tensor_type({rois->shape[0], data->shape[1], dim(a.pooled_size[0]), dim(a.pooled_size[1])}, data->dtype);
}

te::Tensors compute(const ROIPoolAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &rois = in[1];
  const DType wide = accumulator(data->dtype);
  auto rounded = [&](const Expr& r, int64_t k) {  // halves away from zero
    Expr at = cast(wide, (*rois)({r, dim(k)})) * number(a.spatial_scale, wide), half = number(0.5, wide);
    Expr whole = unary(UnaryOp::Floor, unary(UnaryOp::Abs, at) + half);
    return cast(DType::int64(), unary(UnaryOp::Sign, at) * whole);
  };
  // The pixels of a cell along an axis: [begin, end).
  auto range = [&](const Exprs& i, size_t d) {
    const int64_t cells = a.pooled_size[d];
    Expr begin = rounded(i[0], d == 0 ? 2 : 1), last = rounded(i[0], d == 0 ? 4 : 3);
    Expr length = max(last - begin + 1, dim(1)), extent = data->shape[2 + d];
    auto held = [&](const Expr& x) { return max(min(x, extent), dim(0)); };
    return std::pair(held(begin + floordiv(i[2 + d] * length, cells)),
                     held(begin + floordiv((i[2 + d] + 1) * length + (cells - 1), cells)));
  };
  // Iterates over the pixels of the cell only: regions are small parts of images.
  return {te::program("roi_pool", shape_of(out), data->dtype, axes_but(4, {}), [&](const Exprs& i, const BufferRef& r) {
    const auto [top, bottom] = range(i, 0);
    const auto [left, right] = range(i, 1);
    const Expr held = max(min(cast(DType::int64(), (*rois)({i[0], dim(0)})), data->shape[0] - 1), dim(0));
    auto search = [&](const Expr& batch, const Expr& y, const Expr& rows, const Expr& x, const Expr& columns) {
      return with_cell("most", te::identity(Combiner::Max, data->dtype), [&](const Cell& most) {
        const Stmt over = each("row", rows, [&](const Expr& row) {
          return each("column", columns, [&](const Expr& column) {
            const Expr pixel = (*data)({batch, i[1], y + row, x + column});
            return most.set(te::combine(Combiner::Max, most.get(), pixel));
          });
        });
        const Expr any = logical_and(lt(dim(0), rows), lt(dim(0), columns));
        return loop::block({over, loop::store(r, i, select(any, most.get(), imm(0, data->dtype)))});
      });
    };
    return let("batch", held, [&](const Expr& batch) {
      return let("top", top, [&](const Expr& y) {
        return let("rows", max(bottom - top, dim(0)), [&](const Expr& rows) {
          return let("left", left, [&](const Expr& x) {
            return let("columns", max(right - left, dim(0)),
                       [&](const Expr& columns) { return search(batch, y, rows, x, columns); });
          });
        });
      });
    });
  })};
}

// The maxima over whole images with the pixels outside of a cell masked.
ir::Expr definition(const ROIPoolAttrs& a, const ir::Exprs& in) {
  const Dims& shape = grad::tensor(in[0]).shape;
  if (scalar::is_any(shape[2]) || scalar::is_any(shape[3])) return nullptr;
  const ir::Expr &data = in[0], &rois = in[1];
  const DType dtype = grad::tensor(rois).dtype;
  auto number_of = [&](double v) { return grad::number(v, rois); };
  auto column = [&](int64_t k) {  // (regions, 1, 1)
    const ir::Expr one =
        grad::call("strided_slice", {rois}, {{"begin", Ints{k}}, {"end", Ints{k + 1}}, {"axes", Ints{1}}});
    return grad::call("expand_dims", {one}, {{"axis", int64_t{2}}});
  };
  auto rounded = [&](int64_t k) {
    const ir::Expr at = grad::times(column(k), number_of(a.spatial_scale));
    const ir::Expr whole = grad::call("floor", {grad::plus(grad::call("abs", {at}), number_of(0.5))});
    return grad::times(grad::call("sign", {at}), whole);
  };
  auto counted = [&](int64_t count, int64_t from) {  // (1, count, 1)
    Tensor t = Tensor::empty({1, count, 1}, dtype);
    for (int64_t i = 0; i < count; ++i) t.set(i, static_cast<double>(from + i));
    return ir::constant(std::move(t));
  };
  ir::Expr mask;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t cells = a.pooled_size[d];
    const ir::Expr begin = rounded(d == 0 ? 2 : 1), last = rounded(d == 0 ? 4 : 3);
    const ir::Expr length = grad::call("maximum", {grad::plus(grad::minus(last, begin), number_of(1)), number_of(1)});
    auto part = [&](int64_t from, const char* towards) {  // (regions, cells, 1)
      const ir::Expr whole =
          grad::over(grad::times(length, counted(cells, from)), number_of(static_cast<double>(cells)));
      return grad::plus(begin, grad::call(towards, {whole}));
    };
    const ir::Expr pixels = grad::call("cast", {grad::places(data, static_cast<int64_t>(2 + d))}, {{"dtype", dtype}});
    const ir::Expr inside = grad::call("logical_and", {grad::call("less_equal", {part(0, "floor"), pixels}),
                                                       grad::call("less", {pixels, part(1, "ceil")})});
    // (regions, 1, cells of rows, cells of columns, H, W), with 1 along the other axis
    const Dims six = d == 0 ? Dims{dim(-1), dim(1), dim(cells), dim(1), shape[2], dim(1)}
                            : Dims{dim(-1), dim(1), dim(1), dim(cells), dim(1), shape[3]};
    const ir::Expr own = grad::call("reshape", {inside}, {{"newshape", six}});
    mask = mask ? grad::call("logical_and", {mask, own}) : own;
  }
  const ir::Expr images =
      grad::call("reshape", {grad::call("cast", {column(0)}, {{"dtype", DType::int64()}})}, {{"newshape", Ints{-1}}});
  const ir::Expr taken = grad::call("expand_dims", {grad::call("take", {data, images}, {{"axis", int64_t{0}}})},
                                    {{"axis", int64_t{2}}, {"num_newaxis", int64_t{2}}});
  const ir::Expr never = grad::number(-std::numeric_limits<double>::infinity(), data);
  const ir::Expr most = grad::call("max", {grad::call("where", {mask, taken, never})}, {{"axis", Ints{4, 5}}});
  const ir::Expr any = grad::call("any", {mask}, {{"axis", Ints{4, 5}}});
  return grad::call("where", {any, most, grad::number(0, data)});
}

}  // namespace
}  // namespace roi_pool_cpp

OpDef vision_roi_pool() {
  using namespace roi_pool_cpp;
  return define<ROIPoolAttrs>(
      {.name = "vision.roi_pool",
       .doc = "Divides regions of images into grids, and computes the maximum of each cell.",
       .inputs = {{"data", "(N, C, H, W)"}, {"rois", "(regions, 5): batch, x1, y1, x2, y2"}},
       // Fusion of vision.roi_pool: output fusable in the reference; the cells that it takes
       // maxima of are data.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .checked = [](const ROIPoolAttrs&, const Types& in) { return vision::checked_images(in); },
       .definition = definition,
       .oracle = "roi_pool(data, rois, pooled_size, spatial_scale)",
       .examples = {{.inputs = {"(9, 1, 6, 7)", "(4, 5)"},
                     .attrs = "pooled_size=[3, 2], spatial_scale=0.75f",
                     .symbolic = {"(9, c, 6, w)", "(r, 5)"},
                     .low = 0,
                     .high = 8},
                    {.inputs = {"(6, 1, 5, 5)", "(3, 5)"},
                     .attrs = "pooled_size=[2, 2], spatial_scale=2f",
                     .low = 0,
                     .high = 5}},
       .rejects = {{{"(2, 3, 6)", "(4, 5)"}, "pooled_size=[3, 2], spatial_scale=1f", "C1"},
                   {{"(2, 3, 6, 7)", "(4, 4)"}, "pooled_size=[3, 2], spatial_scale=1f", "C2"},
                   {{"(2, 3, 6, 7)", "(4, 5)"}, "pooled_size=[3, 0], spatial_scale=1f", "C3"}}},
      "ROIPoolAttrs");
}

}  // namespace relay::ops
