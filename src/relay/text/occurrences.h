// Every name in a text with its place. A variable that is used five times is one node, so its uses have no places in
// the program; the parser notes them while it reads, if it is asked to.
//
//   let %y = nn.relu(%x); add(%y, %y)        the thing %y has three places, the first of which defines it
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "relay/ir/expr.h"

namespace relay::text {

enum class NameKind : uint8_t {
  Variable,
  Parameter,
  Graph,
  Global,
  Operator,
  Constructor,
  Type,
  TypeVariable,
  Size,
  Attribute
};

constexpr uint32_t nowhere = UINT32_MAX;

// Names with the same meaning refer to one thing.
struct Thing {
  NameKind kind;
  std::string name;  // without % or @
  // The variable, operator or constructor; the value of a graph variable; the operator of an attribute; else null.
  ir::Expr expr;
  uint32_t definition = nowhere;      // the beginning of the place that defines it; nowhere if it is not in this text
  uint32_t begin = nowhere, end = 0;  // a function or type: its whole definition
};

struct Occurrence {
  uint32_t begin, end;  // with % or @
  uint32_t thing;       // an index in `things`
};

// A call, by the beginning of its callee's name; for infix operators, by that of their symbol.
struct CallPlace {
  uint32_t callee;
  ir::Expr call;
};

struct Occurrences {
  std::vector<Thing> things;
  std::vector<Occurrence> places;  // in order
  std::vector<CallPlace> calls;    // in order

  // The name that contains this offset or ends there; null if there is none.
  const Occurrence* at(uint32_t offset) const;
  const ir::Expr* call_at(uint32_t callee) const;
};

// Notes names. Keys say which are the same: nodes, or names for things that are not nodes.
class OccurrenceRecorder {
 public:
  explicit OccurrenceRecorder(Occurrences* out) : out_(*out) {}
  uint32_t note(uint32_t begin, uint32_t end, NameKind kind, std::string_view name, const void* key,
                const ir::Expr& expr, bool defines);
  uint32_t note_named(uint32_t begin, uint32_t end, NameKind kind, std::string_view name, bool defines);
  // A graph variable by its number and its value; the value is unset in its definition until it has been read.
  uint32_t define_graph(uint32_t begin, uint32_t end, int64_t number);
  void bind_graph(int64_t number, const ir::Expr& value);
  void note_graph(uint32_t begin, uint32_t end, int64_t number, const ir::Expr& value);
  void note_call(uint32_t callee, const ir::Expr& call) { out_.calls.push_back({callee, call}); }
  void set_extent(uint32_t thing, uint32_t begin, uint32_t end);
  void finish();  // sorts

 private:
  uint32_t add(uint32_t begin, uint32_t end, uint32_t thing, bool defines);

  Occurrences& out_;
  std::unordered_map<const void*, uint32_t> by_key_;
  std::unordered_map<std::string, uint32_t> by_name_;
  std::unordered_map<int64_t, std::vector<uint32_t>> graphs_;
};

}  // namespace relay::text
