// Forms of operators whose axes, bounds or amounts are computed at run time: the number of axes is known, sizes are
// not.
#pragma once

#include "relay/frontend/common/ops/computed.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// Element i of a list, as a scalar.
ir::Expr element(Convert& c, const ir::Expr& list, int64_t i);
// e, unless an element of the bools `wrong` is true: then a run ends with a message and a help.
ir::Expr refused_where(Convert& c, const ir::Expr& e, const ir::Expr& wrong, const std::string& message,
                       const std::string& help);
// True for integers that are not from `least` to `most`.
ir::Expr not_within(Convert& c, const ir::Expr& e, const ir::Expr& least, const ir::Expr& most);
// The sizes of the parts of an axis. A run fails if they do not add up to `extent`.
ir::Expr checked_parts(Convert& c, const ir::Expr& sizes, const ir::Expr& extent);
// Indices that count from either end. A run fails if one is not within `count`.
ir::Expr checked_places(Convert& c, const ir::Expr& places, int64_t count, const char* what);
// Numbers of rows of a table, from its beginning, as int64. A run fails if one is not a row.
ir::Expr checked_rows(Convert& c, const ir::Expr& places, const ir::Expr& table, const char* what);

Values computed_slice(Convert& c);
Values computed_unsqueeze(Convert& c, const ir::Expr& x, const ir::Expr& axes);
Values computed_split(Convert& c, const ir::Expr& x, const ir::Expr& sizes, int64_t axis);
// `pads`: before every axis of `axes`, then after; null axes: all axes. mode: constant, edge, reflect or wrap.
Values computed_pad(Convert& c, const ir::Expr& x, const ir::Expr& pads, const ir::Expr& axes, const ir::Expr& value,
                    const std::string& mode);
Values computed_crop(Convert& c, const ir::Expr& x, const ir::Expr& shape, const ir::Ints& axes);
Values computed_affine_grid(Convert& c, const ir::Expr& given, const ir::Expr& size);
// theta as (N, axes, axes + 1), sizes that are not known being checked; null if a problem was reported.
ir::Expr affine_map(Convert& c, const ir::Expr& theta, int64_t axes);
// The result of `along` for the axis in a scalar; all results have the same number of axes.
ir::Expr along_computed(Convert& c, const ir::Expr& axis, int64_t rank, function_ref<ir::Expr(int64_t axis)> along);

}  // namespace relay::onnx
