// The version of Relay. CMakeLists.txt and pyproject.toml say the same (checked by test/python/test_cli.py).
#pragma once

namespace relay {
inline constexpr const char* version = "0.1.0";
}
