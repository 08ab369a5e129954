// The interpreters of Python that may have the packages relay and torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace relay::input {

// The interpreters to try, in this order: RELAY_PYTHON alone if it is set; else the one next to `program` (our argv[0],
// in a virtual environment), the one next to the program's file, that of the source tree, and python3 of the path.
std::vector<std::string> python_interpreters(const std::string& program);
// The first that finds these packages, without importing them; unset if none does.
std::optional<std::string> python_with(const std::vector<std::string>& interpreters,
                                       const std::vector<std::string>& packages);

}  // namespace relay::input
