// The name of the function that a program begins with: @main.
#pragma once

namespace relay::ir {

inline constexpr const char* main_function = "main";

}  // namespace relay::ir
