// Files that a model or a program refers to, stored next to it. A file from an untrusted source can make Relay read no
// others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relay {

// Resolves `location`, as written in the file `owner`, to a path with symbolic links followed. `location` must be a
// relative path without ".." to a file in the folder of the path `owner`, or, if `owner` is a link, in the folder of
// its target (caches of model hubs consist of links). Otherwise returns nullopt and sets `why` ("which is an absolute
// path"). Anyone who can write to the folder during the call can substitute another file.
std::optional<std::string> adjacent_path(const std::string& owner, std::string_view location, std::string* why);

}  // namespace relay
