// Regions: the parts of a function that are marked for one compiler, between annotation.compiler_begin and
// compiler_end. Expressions computed from begins in one scope, without an end in between, form a region, so all its
// inputs are available at its place. Only calls, tuples and projections belong to regions.
#pragma once

#include "relay/transform/group/dataflow.h"

namespace relay::transform {

struct Regions {
  explicit Regions(const ir::FunctionRef& f);

  static const ir::Call* begin(const ir::Expr& e);
  static const ir::Call* end(const ir::Expr& e);

  // For a node of `flow`, by index: its region, represented by the index of one of its nodes; every node outside of
  // regions is a set by itself.
  int find(int node) const;
  // The compiler of the node's region; empty if the node is in no region.
  const std::string& compiler(int node) const { return compilers[static_cast<size_t>(find(node))]; }
  void join(int a, int b);
  // Merges two regions for the same compiler if one uses the other and no path leads out of one and back into the
  // other.
  void merge_neighbours();

  Dataflow flow;
  // By node, the innermost scope that contains all its uses (`flow` has the first). The body of a let is a scope too.
  std::vector<int> scopes;
  mutable std::vector<int> parents;
  std::vector<std::string> compilers;
  std::vector<std::vector<int>> members;  // by representative
  std::vector<std::vector<int>> inputs;   // by node: its children, and the value of the variable that it is

 private:
  void find_scopes();
  bool leads_around(int from, int to, int first) const;
};

}  // namespace relay::transform
