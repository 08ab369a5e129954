// Regions: the parts of a function that are marked for one compiler, between annotation.compiler_begin and
// compiler_end. What is computed of begins in one scope, without an end between, is one region: so where the region
// stands all that it uses is known. Only calls, tuples and projections lie in regions.
#pragma once

#include "relay/transform/dataflow.h"

namespace relay::transform {

struct Regions {
  explicit Regions(const ir::FunctionRef& f);

  static const ir::Call* begin(const ir::Expr& e);
  static const ir::Call* end(const ir::Expr& e);

  // Of a node of `flow`, by index: the region, named by the index of one of its nodes; every node that lies in no
  // region is a set of its own.
  int find(int node) const;
  // Empty: the node lies in no region.
  const std::string& compiler(int node) const { return compilers[static_cast<size_t>(find(node))]; }
  void join(int a, int b);
  // Makes one region of each two that are for the same compiler and of which one uses the other, where no way leads
  // from one out and back into the other.
  void merge_neighbours();

  Dataflow flow;
  // Of each node, the innermost scope with all its uses in it (`flow` has the first). The body of a let is one too.
  std::vector<int> scopes;
  mutable std::vector<int> parents;
  std::vector<std::string> compilers;
  std::vector<std::vector<int>> members;  // of a set, by its name
  std::vector<std::vector<int>> inputs;   // of a node: its children, and the value of the variable that it is

 private:
  void find_scopes();
  bool leads_around(int from, int to, int first) const;
};

}  // namespace relay::transform
