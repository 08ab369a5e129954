// The modules of a compilation, from the one that was read to the one after the last pass, as differences.
//
//   Recording recording(typed);                                     the module that was read
//   options.trace = [&](const transform::PassTrace& trace) { recording.see(trace); };
//
// A row is a node that keeps its number from pass to pass. Nodes are immutable and shared, so an unchanged node is the
// same pointer and keeps its row. A new node takes the number of a removed one with its place and label, or else with
// its place; then the row changes. A node without such a predecessor is added.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "relay/build/provenance.h"
#include "relay/ir/node_map.h"
#include "relay/transform/pass.h"

namespace relay::driver {

// Texts by number. Names come from strangers: a text is escaped (base/printable.h) and cut after `longest` bytes.
class Texts {
 public:
  static constexpr size_t longest = 400;
  int number(const std::string& text);
  const std::vector<std::string>& all() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int> numbers_;
};

struct Row {
  int kind = 0;    // an ir::ExprKind, or Recording::operator_call
  int label = -1;  // in labels(): the operator, the name of a variable, "@f", a scalar's value
  int type = -1;   // in types(); -1 if it has none
  int place = -1;  // in places(); -1 if unknown
  int attrs = -1;  // in labels(): "strides=[2, 2]", the patterns of a match; -1 if it has none
  int owner = -1;  // the row of the function whose body it is in; -1 for a definition
  // Rows in the order of the children. Of a function: parameters, body; of a let: variable, value, body; of a match:
  // data, the variables of the patterns, -1, bodies. A call does not list its operator, but lists any other callee.
  std::vector<int> args{};
  const void* data = nullptr;  // of a constant: its elements; tells folded weights from those before
  bool operator==(const Row&) const = default;
};

// The difference that a pass made.
struct Step {
  std::string pass;
  double ms = 0;
  transform::Applied applied{};
  std::map<std::string, int> functions{};     // added or replaced definitions: the row of each
  std::vector<std::string> gone_functions{};  // by name
  int first = 0;                              // number of the first added row
  std::vector<Row> added{};
  std::vector<std::pair<int, Row>> changed{};
  std::vector<int> removed{};  // ascending
};

struct TypeText {
  std::string text;    // "Tensor[(2, 4), float32]"
  std::string dtype;   // of a tensor, else ""
  int64_t bytes = -1;  // -1 if a size is unknown, or it is not made of tensors
};

class Recording {
 public:
  static constexpr int operator_call = 100;  // the kind of a call of an operator

  Recording() = default;
  explicit Recording(const ir::Module& typed);
  void see(const transform::PassTrace& trace);

  const std::vector<Step>& steps() const { return steps_; }  // first that of the module that was read
  const std::vector<std::string>& labels() const { return labels_.all(); }
  const std::vector<TypeText>& types() const { return types_; }
  const std::vector<Span>& places() const { return places_; }
  // The number of a place; -1 if no recorded node has it.
  int place_of(const Span& span) const;

 private:
  struct Item {
    ir::Expr node;
    const ir::ExprNode* owner = nullptr;
  };
  class Match;
  static std::vector<Item> items_of(const ir::Module& module);
  void record(const std::string& pass, double ms, const transform::Applied& applied, const ir::Module& after);
  std::vector<int> number_nodes(const std::vector<Item>& items, const std::vector<Row>& made,
                                ir::NodeMap<int>& numbers);
  int type_of(const ir::Type& type);
  int place_number(const Span& span);
  Row described(const ir::Expr& node);
  void add_children(const ir::Expr& node, const ir::NodeMap<int>& numbers, Row& row) const;

  ir::Module now_;            // keeps the addresses of the current nodes
  ir::NodeMap<int> numbers_;  // of the current nodes
  std::vector<Row> rows_;     // the last one of each number
  std::vector<int> alive_;    // ascending
  std::vector<Step> steps_;
  Texts labels_;
  std::vector<TypeText> types_;
  std::unordered_map<std::string, int> type_numbers_;
  std::unordered_map<const void*, std::pair<ir::Type, int>> seen_types_;
  std::vector<Span> places_;
  std::unordered_map<build::Provenance::Key, int, build::Provenance::Hash> place_numbers_;
};

}  // namespace relay::driver
