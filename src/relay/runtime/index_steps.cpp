#include "relay/runtime/index_steps.h"

#include "relay/tensor/index_check.h"

namespace relay::runtime {

namespace {

// The facts of a step.
struct Indices {
  const IndexCheck& check;
  const Shape& shape;
  DType dtype;
  int64_t count;
  std::span<const int64_t> extents;
  int64_t inner;
  bool from_end;

  Indices(const Segment& f, const Plan& plan, const Step& step)
      : check(f.index_checks[step.kernel]),
        shape(plan.shapes[f.operands[step.args.begin]]),
        dtype(f.arrays[f.operands[step.args.begin]].dtype),
        count(element_count(shape).value_or(0)),
        extents(plan.sizes.data() + step.sizes.begin, step.sizes.count),
        inner(indices_per_extent(shape, check)),
        from_end(check.axes[0] != no_axis) {}

  std::optional<int64_t> first_wrong(const void* data) const {
    return first_out_of_range(data, dtype, count, extents, inner, from_end);
  }
};

}  // namespace

int64_t indices_per_extent(const Shape& shape, const IndexCheck& check) {
  if (check.axes.size() == 1) return *element_count(shape);
  int64_t inner = 1;
  for (size_t d = check.rows == Rows::Added ? 2 : 1; d < shape.size(); ++d) inner *= shape[d];
  return inner;
}

Diagnostic index_error(const Segment& segment, const Plan& plan, const Step& step, const void* data) {
  const Indices all(segment, plan, step);
  const IndexCheck& check = all.check;
  const int64_t place = *all.first_wrong(data);
  const size_t which = extent_of(place, all.extents.size(), all.inner);
  Shape at = coordinates(place, all.shape);
  // Positions within the failed call only.
  if (check.rows == Rows::First) at[0] = 0;
  if (check.rows == Rows::Added) at.erase(at.begin());
  Span where;
  if (!check.place.empty()) where.node = std::make_shared<const std::string>(check.place);
  return index_out_of_range(check.op, where, at, data, all.dtype, place, check.axes[which], all.extents[which]);
}

Status check_indices(const Segment& segment, const Plan& plan, const Step& step, const void* data) {
  const Indices all(segment, plan, step);
  if (all.count == 0 || !all.first_wrong(data)) return ok();
  return index_error(segment, plan, step, data);
}

}  // namespace relay::runtime
