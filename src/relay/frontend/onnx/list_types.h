// The types of sequences and optional values that are known only when the model runs: List[T] and Option[T] of the
// prelude.
#pragma once

#include "relay/ir/expr.h"

namespace relay::onnx::lists {

ir::Type list_of(const ir::Type& element);
ir::Type option_of(const ir::Type& element);
// T of List[T] and of Option[T]; null: it is another type.
ir::Type element_of_list(const ir::Type& type);
ir::Type element_of_option(const ir::Type& type);

// A list, or an optional one, from its other end; all else as it is. Importers' callers see sequences from their first
// element on, converters from their last (prelude/sequence.relay).
ir::Expr turned(const ir::Expr& e, const Span& place);

}  // namespace relay::onnx::lists
