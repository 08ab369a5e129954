// Provenance: the kernels that compute each node of a model, and the pass that removed it if none does.
//
//   Provenance nodes(typed);                              the model as it was read
//   nodes.see("backward_fold_scale_axis", better);                 after each pass
//   for (const NodeReport& node : nodes.report(lowered))
//     "BatchNormalization 'bn1'", removed_by "backward_fold_scale_axis"
//
// A node is a place in the model: a node of a foreign file, or a call in a text. Calls of operators carry their place
// through all passes (ir::ExprNode::span); a node exists as long as a call with its place does.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/lower/lower.h"

namespace relay::build {

struct NodeReport {
  std::string node;                    // "Conv 'conv_17'", "model.relay:3:14"
  std::vector<std::string> kernels{};  // that compute it, in the order of their first call; if empty: ...
  std::string removed_by{};            // ... the pass that removed the last call of this place, or "import"; if empty:
                                       // ...
  bool constant = false;               // ... true: computed once, when the program is built; false: stored by its
                                       // operands
  std::string reason{};                // set if the importer left it out: the reason
};

class Provenance {
 public:
  explicit Provenance(const ir::Module& model);
  void see(const std::string& pass, const ir::Module& module);
  // In the order of the model, followed by the nodes that the importer left out.
  std::vector<NodeReport> report(std::span<const lower::LoweredFunction> segments) const;

  // The identity of a place.
  struct Key {
    const void* where;  // the source, or the foreign node's name
    uint32_t begin, end;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<const void*>()(k.where) * 31 + k.begin * 7919 + k.end; }
  };
  static Key key(const Span& place);

 private:
  struct Node {
    Span place;
    std::string removed_by{};
    size_t seen = 0;  // number of the last pass after which it was present
  };

  std::vector<Node> nodes_;
  std::vector<NodeReport> left_out_;             // by the importer
  std::unordered_map<Key, size_t, Hash> index_;  // of nodes
  size_t passes_ = 0;
};

// Equivalent to place_text(), for many places of one long text: line starts are found once.
class PlaceTexts {
 public:
  std::string operator()(const Span& place);

 private:
  std::unordered_map<const Source*, std::vector<uint32_t>> lines_;
};

// The places of the steps that call each kernel, by the kernel's name.
std::unordered_map<std::string, std::vector<std::string>> nodes_by_kernel(
    std::span<const lower::LoweredFunction> segments);

}  // namespace relay::build
