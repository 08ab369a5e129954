// The devices of all values of a program, by unification.
//
// The domain of a value has the structure of its type: a tensor is on one device; a tuple has a domain for each field,
// a function one for each parameter and one for its result, a reference that of its content. Everything inside a data
// value, and a value whose type is a type variable, is on one device. A function is on the same devices in all calls.
//
// The arguments and results of an operator are on one device, except those of on_device and device_copy, and the
// arguments of operators that read only shapes. A constant is on the device of each of its uses. The condition of an
// `if` is on the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/base/device_name.h"
#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

class DeviceDomains {
 public:
  // Errors name both places that put a value on different devices. `otherwise`: the device of values that nothing
  // places.
  static Result<DeviceDomains> of(const ir::Module& module, DeviceName otherwise);

  // The device of a value; of a value of several tensors, that of the first.
  DeviceName device(const ir::Expr& e) const;
  // The device of each tensor of a value, or of a value's only domain, in order.
  std::vector<DeviceName> devices(const ir::Expr& e) const;

 private:
  struct Cell {
    int parent = -1;           // another cell of the same device; -1 for the representative
    std::vector<int> parts{};  // of a structure
    std::optional<DeviceName> device{};
    Span span{};           // the place that determines the device, and ...
    std::string reason{};  // ... what it says
  };
  explicit DeviceDomains(const ir::Module& module, DeviceName otherwise)
      : module_(&module), otherwise_(std::move(otherwise)) {}

  int find(int cell) const;
  int make(const ir::Type& type);
  int of(const ir::Expr& e);
  void leaves(int cell, std::vector<int>& out) const;
  void unify(int a, int b, const Span& span);
  void join(const ir::Expr& a, const ir::Expr& b);
  void join_leaves(int a, int b, const Span& span);
  void place(int cell, const DeviceName& device, const Span& span, const std::string& reason);
  void place(const ir::Expr& e, const std::string& name, const Span& span, const std::string& reason);
  void conflict(const Cell& a, const Cell& b, const Span& span);

  void read_attributes(const ir::FunctionRef& f);
  void constrain(const ir::Expr& e);
  void constrain_call(const ir::Call& call, const ir::Expr& e);
  void constrain_pattern(const ir::Pattern& pattern, int domain, const Span& span);

  const ir::Module* module_;  // only while the domains are found
  DeviceName otherwise_;
  ir::NodeMap<int> cell_of_;         // by node: its cell plus 1
  mutable std::vector<Cell> cells_;  // find() shortens paths
  Diagnostics errors_;
};

}  // namespace relay::transform
