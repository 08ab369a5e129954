// The language of rules.def: patterns of expressions and their replacements, as text.
//
//   nn.relu(x)     a call of the operator with any attributes
//   x, y, z        any expression; the same letter is the same node
//   f, i, s, q     one of floats; of integers or Bools; of signed numbers; of integers of at most 16 bits
//   C, D           a constant, or a product or sum of such
//   S, P           a scalar constant: a small integer; a positive float of moderate size
//   0, -0, 2.5     a constant whose elements are all that number, zeros of that sign; in a replacement a scalar of its
//                  type
//
// The arguments of add and multiply match in either order (pattern/pattern.h). In a replacement an operator gets the
// attributes that the type of the result determines (reshape, cast, broadcast_to, full, zeros, ones), else those of the
// call of this operator in the pattern; calls on constants are folded.
//
// A rule holds for every element of every type that its pattern matches: integers that wrap around, unsigned ones,
// Bools (add is "or"), NaN, infinities and both zeros (-0 + 0 is 0). A rounding rule may round differently, but neither
// overflow nor cancel where the pattern does not: a constant that it computes must keep its digits.
#pragma once

#include "relay/pattern/pattern.h"

namespace relay::transform {

// A pattern or a replacement, as written.
struct Term {
  enum Kind : uint8_t { Letter, Number, Operator } kind;
  std::string name;  // Letter, Operator
  double number = 0;
  std::vector<Term> args;
};

struct Rule {
  std::string name, text;  // "add_zero", "add(x, 0) becomes x"
  bool rounds;             // the result may be rounded differently
  Term pattern, replacement;
  pattern::Pattern matched;
  std::vector<std::pair<std::string, pattern::Pattern>> letters;    // by name
  std::vector<std::pair<std::string, pattern::Pattern>> operators;  // calls in the pattern, outer ones first
};
const std::vector<Rule>& all_rules();
Term parse_term(const char* text);  // parses a rule's text; an error in it is a bug

// The replacement of a match, an expression of type `type`; null if it would have another type.
ir::Expr replacement(const Rule& rule, const pattern::Match& match, const ir::Type& type, const Span& span);

}  // namespace relay::transform
