// The data types of values passed to a program.
#pragma once

#include <map>
#include <string>

#include "relay/ir/expr.h"
#include "relay/runtime/program/program.h"

namespace relay::python {

struct DataTypes {
  std::map<std::string, runtime::TypeId> types;
};
DataTypes data_types(const ir::Module& module);
DataTypes data_types(const runtime::Program& program);

}  // namespace relay::python
