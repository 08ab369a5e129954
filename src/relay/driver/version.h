// The version of Relay, equal to that in CMakeLists.txt and pyproject.toml (checked by test/python/driver/test_cli.py).
#pragma once

namespace relay {
inline constexpr const char* version = "0.1.0";
}
