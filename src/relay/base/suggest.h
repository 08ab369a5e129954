// Names that a misspelt one may have meant, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay {

// The candidates that are near enough to `name` to be meant by it, the nearest first, at most `most`. An exchanged pair
// of letters counts as one change, and another case as half of one. A name without its namespace ("conv2d" for
// "nn.conv2d") and the beginning of a name ("conv" for "nn.conv2d") are near too.
std::vector<std::string> suggestions(std::string_view name, const std::vector<std::string>& candidates, size_t most);

// "did you mean 'a', 'b' or 'c'?"; empty without names.
std::string did_you_mean(const std::vector<std::string>& names);

}  // namespace relay
