// Forms of operators whose sizes, bounds or places are computed at run time. The number of axes is known.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// x reshaped to a list of known length with elements computed at run time. Constant elements become extents of its
// type.
ir::Expr computed_reshape(Conversion& c, const ir::Expr& x, const ir::Expr& shape, bool allowzero);
ir::Expr computed_expand(Conversion& c, const ir::Expr& x, const ir::Expr& shape);
// 0, 1, .. below a scalar, as int64.
ir::Expr numbers_to(Conversion& c, const ir::Expr& end);
// `size` elements of x along an axis, `step` places apart; the size is a name or an expression of names.
ir::Expr slice_of_size(Conversion& c, const ir::Expr& x, int64_t axis, const ir::Dim& begin, const ir::Dim& size,
                       int64_t step = 1);
// e in the shape (1, .., size of e, .., 1): along one of `rank` axes.
ir::Expr along_axis_of(Conversion& c, ir::Expr e, int64_t axis, int64_t rank);
// Elements of x at places of an axis; a place outside of it is the nearest one in it.
ir::Expr picked(Conversion& c, const ir::Expr& x, const ir::Expr& places, int64_t axis);
// Elements of x along an axis, with `value`, a scalar, for places outside of it.
ir::Expr filled(Conversion& c, const ir::Expr& x, const ir::Expr& places, int64_t axis, const ir::Expr& value);

}  // namespace relay::frontend
