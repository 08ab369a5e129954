// Files that a model or a program names, which lie beside it: a file from a stranger reads nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relay {

// The path, with links followed, of the file that `owner` names `location`. It must be a relative path without "..", to
// a file in the folder that the path `owner` names or in the one where `owner` is when that is a link (caches of model
// hubs are made of links), links followed. Nothing: it is not, and `why` says so ("which is an absolute path"). Who may
// write into the folder at the same time can put another file in its place.
std::optional<std::string> path_beside(const std::string& owner, std::string_view location, std::string* why);

}  // namespace relay
