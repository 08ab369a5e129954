// The language of rules.def: what an expression looks like, and what stands in its place, as text.
//
//   nn.relu(x)     a call of the operator; its attributes are whatever they are
//   x, y           any expression; the same letter is the same node; f one of floats
//   C, D           a constant, or a product or sum of such; S a scalar constant, P one above zero
//   0, 2.5         a constant of which every element is that number; in a replacement a scalar of its type
//
// The arguments of add and multiply match in either order (pattern/pattern.h). In a replacement an operator has the
// attributes that the type of the result decides (reshape, cast, broadcast_to, full, zeros, ones), else
// those of the call of this operator in the pattern; calls of constants are computed.
#pragma once

#include "relay/pattern/pattern.h"

namespace relay::transform {

// A pattern or a replacement, as it is written.
struct Term {
  enum Kind : uint8_t { Letter, Number, Operator } kind;
  std::string name;  // Letter, Operator
  double number = 0;
  std::vector<Term> args;
};

struct Rule {
  std::string name, text;  // "add_zero", "add(x, 0) becomes x"
  bool rounds;             // the result is rounded elsewhere
  Term pattern, replacement;
  pattern::Pattern matched;
  std::vector<std::pair<std::string, pattern::Pattern>> letters;    // by name
  std::vector<std::pair<std::string, pattern::Pattern>> operators;  // calls in the pattern, outer ones first
};
const std::vector<Rule>& all_rules();
Term parse_term(const char* text);  // that of a rule: a mistake in it is a bug

// What stands in the place of a match, an expression of type `type`; null: it would have another type.
ir::Expr replacement(const Rule& rule, const pattern::Match& match, const ir::Type& type, const Span& span);

}  // namespace relay::transform
