// Reads a text for an editor: the program as far as it could be understood, all names with their places, and the
// situation at the end of a text that stops in the middle.
//
// After a mistake in its syntax, a definition goes on at the next `;`, `}` or `let`, and the rest of the broken step is
// left out; parse() would leave out the whole definition. Unknown values have no type. The diagnostics are those of
// parse().
#pragma once

#include <optional>

#include "relay/text/occurrences.h"
#include "relay/text/text.h"

namespace relay::text {

// The constructs and names around the end of a text.
struct Situation {
  struct Call {
    ir::Expr callee;
    size_t argument = 0;                  // the number of arguments before
    std::vector<std::string> attributes;  // that are given before; the last one may be incomplete
  };
  bool in_definition = false;
  std::vector<ir::VarRef> variables;  // visible ones, by name
  std::vector<std::pair<int64_t, ir::Expr>> graphs;
  std::optional<Call> call;  // the innermost one that is open
};

struct Reading {
  ir::Module module;
  Diagnostics diagnostics;
  Occurrences names;
  Situation end;
  struct Range {
    uint32_t begin, end;
  };
  std::vector<Range> broken;  // definitions with a mistake in their syntax, up to the next definition
};

Reading read(std::shared_ptr<const Source> source, const ParseOptions& options = {});

}  // namespace relay::text
