// Pattern matching as a decision tree: no path through it tests a value twice.
//
//   match (%t) { (Cons(%a, _), Nil) => 0, (_, %b) => 1 }
//
//   0: switch List 0.0 -> 1 2            (Cons and Nil)
//   1: switch List 0.1 -> 3 4
//   2: clause 1 %b = 0.1    3: clause 1 %b = 0.1    4: clause 0 %a = 0.0.0
//
// Places name parts of the value: 0 is the value, 0.1 its second field. The rows of the matrix are the clauses in
// order; the first row determines the next test (Maranget 2008). A tuple, and a type of one constructor, need no test.
#pragma once

#include <map>

#include "relay/ir/expr.h"

namespace relay::exec {

// A part of the matched value: field `field` of place `of`. The first place is the value itself.
struct Place {
  int of = -1;
  uint32_t field = 0;
};

struct Decision {
  enum class Kind : uint8_t { Switch, Clause, Fail } kind = Kind::Fail;
  int place = 0;                                      // Switch: the place that is tested,
  std::string type;                                   // ... a value of this type,
  std::vector<int> targets;                           // ... and the decision for each constructor
  int clause = 0;                                     // Clause: its number,
  std::vector<std::pair<ir::VarRef, int>> variables;  // ... and the place of each variable of its pattern
};

struct DecisionTree {
  std::vector<Place> places;
  std::vector<Decision> decisions;  // the first is the root; targets come after
  std::vector<int> uses;            // number of decisions that choose each clause
};

using TypeDefs = std::map<std::string, ir::TypeDef>;
Result<DecisionTree> decide(const ir::Match& match, const TypeDefs& types);

// Text as above, for readers.
std::string str(const DecisionTree& tree);

}  // namespace relay::exec
