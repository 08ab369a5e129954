// The types of sequences and optional values that are known only at run time: List[T] and Option[T] of the prelude.
#pragma once

#include "relay/ir/expr.h"

namespace relay::onnx::lists {

ir::Type list_of(const ir::Type& element);
ir::Type option_of(const ir::Type& element);
// T of List[T] and of Option[T]; null for another type.
ir::Type element_of_list(const ir::Type& type);
ir::Type element_of_option(const ir::Type& type);

// A list, or an optional one, in reverse order; all else unchanged. Importers' callers see sequences from their first
// element on, converters from their last (prelude/sequence.relay).
ir::Expr reversed(const ir::Expr& e, const Span& place);

}  // namespace relay::onnx::lists
