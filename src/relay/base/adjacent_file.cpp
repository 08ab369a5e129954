#include "relay/base/adjacent_file.h"

#include <filesystem>

namespace relay {

namespace fs = std::filesystem;

std::optional<std::string> adjacent_path(const std::string& owner, std::string_view location, std::string* why) {
  auto refuse = [&](std::string what) {
    *why = std::move(what);
    return std::nullopt;
  };
  if (location.empty() || location.find('\0') != std::string_view::npos) return refuse("which is not a path");
  const fs::path relative{std::string(location)};
  if (relative.is_absolute()) return refuse("which is an absolute path");
  for (const fs::path& part : relative)
    if (part == "..") return refuse("which leaves the folder");
  std::error_code error;
  const fs::path named = fs::path(owner).parent_path();
  const fs::path folder = fs::weakly_canonical(named.empty() ? fs::path(".") : named, error);
  if (error) return refuse(error.message());
  const fs::path real_folder = fs::weakly_canonical(fs::path(owner), error).parent_path();
  if (error) return refuse(error.message());
  const fs::path path = fs::weakly_canonical(folder / relative, error);
  if (error) return refuse(error.message());
  auto inside = [&](const fs::path& root) {
    const fs::path below = path.lexically_relative(root);
    return !below.empty() && *below.begin() != "..";
  };
  if (!inside(folder) && !inside(real_folder)) return refuse("which leads out of the folder");
  return path.string();
}

}  // namespace relay
