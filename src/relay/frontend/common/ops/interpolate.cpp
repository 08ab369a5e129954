#include "relay/frontend/common/ops/interpolate.h"

#include <cmath>

#include "relay/frontend/common/ops/computed.h"
#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/matrix_product.h"

namespace relay::frontend {

using ir::Expr;

namespace {

class Along {
 public:
  Along(Conversion& c, const Expr& x, const Interpolation& how, const ResizedAxis& to)
      : c_(c), x_(x), how_(how), to_(to), old_(c.size_of(x, to.axis)), extent_(real(old_)) {}

  Expr result() {
    const Expr at = places();
    if (!at) return nullptr;
    Expr y = how_.mode == "nearest" ? picked(nearest(at)) : weighted(at);
    if (how_.transformation != "tf_crop_and_resize") return y;
    Expr last = c_.add(extent_, -1);
    Expr outside = c_.emit("logical_or", {c_.emit("less", {at, number(0)}), c_.emit("greater", {at, last})});
    return c_.emit("where", {along(outside), c_.scalar(how_.extrapolation, c_.dtype(y)), y});
  }

 private:
  Expr number(double value) { return c_.scalar(value, DType::float64()); }
  Expr real(const Expr& e) { return c_.cast(e, DType::float64()); }
  Expr whole(const Expr& e) { return c_.cast(e, DType::int64()); }
  Expr floor(const Expr& e) { return c_.emit("floor", {e}); }

  // A list in the direction of the axis.
  Expr along(Expr e) {
    for (int64_t i = to_.axis + 1; i < c_.rank(x_); ++i) e = c_.expand(e, i - to_.axis);
    return e;
  }

  // A place in float32, before it is rounded to an element: like ONNX Runtime, for which 1.5 / 0.3f is 5. Places beyond
  // 2^22 stay as they are.
  Expr rounded(const Expr& place) {
    if (how_.mode != "nearest") return place;
    constexpr double most = 0x1p22;
    const Expr near = real(c_.cast(place, DType::float32()));
    if (const std::optional<int64_t> extent = c_.extent(x_, to_.axis); extent && static_cast<double>(*extent) < most)
      return near;
    return c_.emit("where", {c_.emit("less", {place, number(most)}), near, place});
  }
  Expr quotient(const Expr& i, const Expr& scale) { return rounded(c_.divide(i, scale)); }

  // For each new element, its place among the old ones.
  Expr places() {
    const Expr i = real(numbers_to(c_, to_.size));
    const Expr half = c_.add(quotient(c_.add(i, 0.5), to_.scale), -0.5);
    const Expr count = c_.multiply(extent_, to_.scale), last = c_.add(extent_, -1);
    const Expr one = c_.emit("equal", {count, number(1)});
    const Expr steps = c_.emit("where", {one, number(1), c_.add(count, -1)});
    const std::string& how = how_.transformation;
    if (how == "half_pixel") return half;
    if (how == "asymmetric") return quotient(i, to_.scale);
    if (how == "tf_half_pixel_for_nn")  // an axis that stays has its own places
      return c_.emit("where", {c_.emit("equal", {to_.scale, number(1)}), i, quotient(c_.add(i, 0.5), to_.scale)});
    if (how == "pytorch_half_pixel")
      return c_.emit("where", {c_.emit("equal", {real(to_.size), number(1)}), number(0), half});
    if (how == "align_corners") return c_.emit("where", {one, number(0), quotient(c_.multiply(i, last), steps)});
    if (how == "half_pixel_symmetric") {
      const Expr ratio = c_.divide(real(to_.size), count);
      return rounded(c_.add(half, c_.multiply(c_.multiply(extent_, 0.5), c_.subtract(number(1), ratio))));
    }
    if (how != "tf_crop_and_resize") return c_.bad("coordinate_transformation_mode is '{}'", how);
    const Expr length = c_.multiply(c_.subtract(to_.end, to_.start), last);
    const Expr middle = c_.multiply(length, 0.5), even = c_.divide(c_.multiply(i, length), steps);
    return c_.add(c_.emit("where", {one, middle, even}), c_.multiply(to_.start, last));
  }

  Expr nearest(const Expr& at) {
    if (how_.nearest == "floor") return whole(floor(at));
    if (how_.nearest == "ceil") return whole(c_.emit("ceil", {at}));
    if (how_.nearest == "round_prefer_ceil") return whole(floor(c_.add(at, 0.5)));
    if (how_.nearest == "round_prefer_floor") return whole(c_.emit("ceil", {c_.add(at, -0.5)}));
    if (how_.nearest == "inwards") {
      const Expr up = c_.emit("ceil", {at}), shrinks = c_.emit("less", {to_.scale, number(1)});
      if (to_.known_scale) return whole(*to_.known_scale < 1 ? up : floor(at));
      return whole(c_.emit("where", {shrinks, up, floor(at)}));
    }
    return c_.bad("nearest_mode is '{}'", how_.nearest);
  }

  // Beyond the ends, the first and the last element repeat.
  Expr picked(const Expr& places) { return c_.emit("take", {x_, places}, {{"axis", to_.axis}, {"mode", "clip"}}); }

  // The weight of an element at a distance.
  Expr weight(const Expr& distance) {
    const Expr d = c_.emit("abs", {distance});
    if (how_.mode == "linear") return c_.emit("maximum", {c_.subtract(number(1), d), number(0)});
    const double a = how_.cubic_alpha;
    auto power = [&](double k3, double k2, double k1, double k0) {
      return c_.add(c_.multiply(c_.add(c_.multiply(c_.add(c_.multiply(d, k3), k2), d), k1), d), k0);
    };
    const Expr near = power(a + 2, -(a + 3), 0, 1), far = power(a, -5 * a, 8 * a, -4 * a);
    const Expr beyond = c_.emit("where", {c_.emit("less", {d, number(2)}), far, number(0)});
    return c_.emit("where", {c_.emit("less_equal", {d, number(1)}), near, beyond});
  }

  Expr weighted(const Expr& at) {
    if (how_.antialias && !to_.known_scale) return filtered(at);
    const double narrow = how_.antialias ? std::min(*to_.known_scale, 1.0) : 1;  // such a filter reaches further
    const double reach = how_.mode == "linear" ? 1 : 2;
    const int64_t first = static_cast<int64_t>(std::floor(-reach / narrow)) + 1, last = 1 - first;
    if (last - first > 1024) return c_.unsupported("a filter of {} elements", last - first);
    const Expr base = floor(at), rest = c_.subtract(at, base);
    const bool normal = how_.antialias || how_.exclude_outside;
    const DType dtype = c_.dtype(x_);
    Expr sum, total;
    for (int64_t i = first; i <= last; ++i) {
      Expr w = weight(c_.multiply(c_.subtract(number(static_cast<double>(i)), rest), narrow));
      const Expr place = whole(c_.add(base, static_cast<double>(i)));
      if (how_.exclude_outside) {
        Expr inside = c_.emit("logical_and",
                              {c_.emit("less_equal", {c_.integer_scalar(0), place}), c_.emit("less", {place, old_})});
        w = c_.emit("where", {inside, w, number(0)});
      }
      if (normal) total = total ? c_.add(total, w) : w;
      const Expr term = c_.multiply(picked(place), along(c_.cast(w, dtype)));
      sum = sum ? c_.add(sum, term) : term;
    }
    return normal ? c_.divide(sum, along(c_.cast(total, dtype))) : sum;
  }

  // The filter against aliasing if its reach is known at run time only: a matrix of all weights, (new, old).
  Expr filtered(const Expr& at) {
    const Expr narrow = c_.emit("minimum", {to_.scale, number(1)}), last = c_.add(extent_, -1);
    const Expr place = c_.expand(real(c_.count_up(x_, to_.axis)), 0), here = c_.expand(at, 1);
    Expr weights = weight(c_.multiply(c_.subtract(place, here), narrow));
    if (!how_.exclude_outside) {
      // Places beyond an end count as the element there.
      const Expr reach = c_.emit("ceil", {c_.divide(number(how_.mode == "linear" ? 1 : 2), narrow)});
      const Expr beyond = c_.add(c_.expand(real(numbers_to(c_, whole(c_.add(reach, 1)))), 0), 1);
      auto sum = [&](const Expr& places) {
        return c_.reduce("sum", weight(c_.multiply(c_.subtract(places, here), narrow)), {1}, true);
      };
      auto with = [&](const Expr& end, const Expr& more) {
        weights = c_.add(weights, c_.emit("where", {c_.emit("equal", {place, end}), more, number(0)}));
      };
      with(number(0), sum(c_.multiply(beyond, -1)));
      with(last, sum(c_.add(beyond, last)));
    }
    weights = c_.cast(c_.divide(weights, c_.reduce("sum", weights, {1}, true)), c_.dtype(x_));
    ir::Ints order;
    for (int64_t i = 0; i < c_.rank(x_); ++i)
      if (i != to_.axis) order.push_back(i);
    order.push_back(to_.axis);
    Expr y = matrix_product(c_, c_.transpose(x_, order), c_.transpose(weights, {1, 0}));
    ir::Ints back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return c_.transpose(y, back);
  }

  Conversion& c_;
  const Expr& x_;
  const Interpolation& how_;
  const ResizedAxis& to_;
  const Expr old_, extent_;
};

}  // namespace

Expr interpolated(Conversion& c, const Expr& x, const Interpolation& how, const std::vector<ResizedAxis>& axes) {
  if (!x || axes.empty()) return x;
  // Half precisions and integers are rounded once, after all axes.
  const DType dtype = c.dtype(x);
  const bool weighs = how.mode != "nearest", is_whole = weighs && !dtype.is_float();
  Expr y = is_whole ? c.cast(x, DType::float64()) : weighs ? c.cast(x, exact_type(c, x)) : x;
  for (const ResizedAxis& to : axes) {
    if (!y) return nullptr;
    y = Along(c, y, how, to).result();
  }
  return y ? c.cast(is_whole ? c.emit("round", {y}) : y, dtype) : y;
}

}  // namespace relay::frontend
