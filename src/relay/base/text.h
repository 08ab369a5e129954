// Text helpers. The only header that includes fmt; all other code calls relay::format("...", ...).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

using fmt::format;
using fmt::join;

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool starts_with(std::string_view text, std::string_view prefix);

// The candidate nearest to `name` by edit distance, if it is near enough to be a typo: for "did you mean".
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates);

// "3 axes", "1 axis".
std::string plural(int64_t n, std::string_view one, std::string_view many);

}  // namespace relay
