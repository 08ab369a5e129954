// Joins the lines of a small image, so that rows of tiles go on in the next line. For 7 x 7 results, four tiles of 16
// rows take the place of seven tiles of 7:
//
//   sum[n, o, y, x] = sum(ky, kx, c) dot(a[n, 2 c, y + ky - 1, x + kx - 1], ..)
//   becomes
//   sum[n, o, yx] = sum(ky, kx, c) dot(a[n, 2 c, ky * 9 + yx + kx], ..)         yx < 6 * 9 + 7
//   and its readers read sum[n, o, y * 9 + x]
//
// The array a is the same, viewed with one dimension less, in which the pixels of the halo count. Of nine results, the
// last two are not read: their windows begin in one line and end in the next.
#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

struct Image {
  size_t line = 0, pixel = 0;  // dimensions
  int64_t low_line = 0, low_pixel = 0;
  int64_t lines = 0, pitch = 0;  // with the halo
};

// The image that the load reads along y and x by single steps, if its pixels follow each other in memory.
std::optional<Image> image_of(const ScheduleDraft& draft, const LoadFact& load, const std::string& y,
                              const std::string& x) {
  const te::TensorNode& t = *load.tensor;
  const Layout layout = draft.layout(load.tensor);
  const size_t n = layout.dims.size();
  if (!t.is_placeholder() || draft.constants.count(t.name) || n < 3 || layout.row_padding != 0) return std::nullopt;
  Image out{static_cast<size_t>(layout.dims[n - 3].dim), static_cast<size_t>(layout.dims[n - 2].dim)};
  auto moves = [&](size_t dim, const std::string& axis) {
    const auto& of = load.coefficients[dim];
    return of && of->count(axis) && of->at(axis) == 1;
  };
  auto halo = [&](const std::vector<int64_t>& of, size_t dim) { return of.empty() ? 0 : of[dim]; };
  const size_t channel = static_cast<size_t>(layout.dims[n - 1].dim);
  for (size_t i = n - 3; i < n; ++i)
    if (layout.dims[i].block != 0) return std::nullopt;
  if (!moves(out.line, y) || !moves(out.pixel, x) || !scalar::is_int(t.shape[out.line]) ||
      !scalar::is_int(t.shape[out.pixel]) || halo(layout.low, channel) != 0 || halo(layout.high, channel) != 0)
    return std::nullopt;
  out.low_line = halo(layout.low, out.line), out.low_pixel = halo(layout.low, out.pixel);
  out.lines = t.shape[out.line]->ivalue + out.low_line + halo(layout.high, out.line);
  out.pitch = t.shape[out.pixel]->ivalue + out.low_pixel + halo(layout.high, out.pixel);
  return out;
}

template <class T>
void erase_at(std::vector<T>& from, size_t at) {
  if (!from.empty()) from.erase(from.begin() + static_cast<int64_t>(at));
}

// The array and its layout with one dimension for lines and pixels.
te::Tensor joined(ScheduleDraft& draft, const te::Tensor& array, const Image& image) {
  Layout layout = draft.layout(array);
  std::erase_if(layout.dims, [&](const LayoutDim& d) { return d.dim == static_cast<int>(image.pixel); });
  for (LayoutDim& d : layout.dims) d.dim -= d.dim > static_cast<int>(image.pixel);
  Exprs shape = array->shape;
  shape[image.line] = scalar::imm(image.lines * image.pitch);
  for (std::vector<int64_t>* halo : {&layout.low, &layout.high}) {
    if (!halo->empty()) (*halo)[image.line] = 0;
    erase_at(*halo, image.pixel);
  }
  erase_at(shape, image.pixel);
  draft.layouts[array->name] = layout;
  return te::placeholder(array->name, shape, array->dtype);
}

}  // namespace

int64_t joined_lines(const ScheduleDraft& draft, const LoadFact& data, const std::string& y, const std::string& x) {
  const std::optional<Image> image = image_of(draft, data, y, x);
  return image ? image->pitch : 0;
}

std::string join_lines(ScheduleDraft& draft, const te::Tensor& sum, const LoadFact& data, const std::string& y,
                       const std::string& x) {
  const Image image = *image_of(draft, data, y, x);
  const te::Tensor array = joined(draft, data.tensor, image);
  const te::Axis lines = *find_axis(*sum, y), pixels = *find_axis(*sum, x);
  const te::Axis both{scalar::var(y + x),
                      scalar::imm((lines.extent->ivalue - 1) * image.pitch + pixels.extent->ivalue)};
  size_t line = 0, pixel = 0;  // axes of the sum
  for (size_t d = 0; d < sum->axes.size(); ++d) {
    if (sum->axes[d].var == lines.var) line = d;
    if (sum->axes[d].var == pixels.var) pixel = d;
  }
  std::map<const scalar::Source*, te::Tensor> done;
  auto at = [&](const Exprs& args, size_t outer, size_t inner, int64_t low_outer, int64_t low_inner) {
    Exprs out = args;
    out[outer] = scalar::simplify((args[outer] + low_outer) * image.pitch + args[inner] + low_inner);
    erase_at(out, inner);
    return out;
  };
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    te::TensorNode node = *t;
    node.body = scalar::rewrite(t->body, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Load) return e;
      if (e->source.get() == data.tensor.get())
        return scalar::load(array, at(e->args, image.line, image.pixel, image.low_line, image.low_pixel));
      const auto found = done.find(e->source.get());
      if (found == done.end()) return e;
      return scalar::load(found->second, e->source.get() == sum.get() ? at(e->args, line, pixel, 0, 0) : e->args);
    });
    if (t.get() == sum.get()) {
      node.body =
          scalar::simplify(scalar::substitute(node.body, {{lines.var, scalar::imm(0)}, {pixels.var, both.var}}));
      node.axes[line] = both, node.shape[line] = both.extent;
      erase_at(node.axes, pixel), erase_at(node.shape, pixel);
    }
    if (node.body != t->body) done[t.get()] = te::Tensor(new te::TensorNode(std::move(node)));
  }
  te::Tensors outputs = draft.outputs();
  for (te::Tensor& o : outputs)
    if (const auto found = done.find(o.get()); found != done.end()) o = found->second;
  draft.set_outputs(std::move(outputs));
  return both.var->name;
}

}  // namespace relay::lower
