#include "relay/base/adjacent_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace relay {
namespace {

namespace fs = std::filesystem;

TEST(Beside, LinksAreFollowedBeforeTheyAreJudged) {
  const fs::path root = fs::canonical(::testing::TempDir()) / ("relay_beside_" + std::to_string(::getpid()));
  fs::create_directories(root / "model/sub");
  fs::create_directories(root / "store");
  for (const char* file : {"model/sub/w", "store/m", "store/w", "secret"}) std::ofstream(root / file) << "x";
  fs::create_symlink(root / "secret", root / "model/out");
  fs::create_directory_symlink(root, root / "model/up");
  fs::create_symlink("sub/w", root / "model/in");
  fs::create_symlink(root / "store/m", root / "model/m");
  const std::string owner = (root / "model/m").string();
  std::string why;
  const auto found = [&](const char* location) { return adjacent_path(owner, location, &why); };
  EXPECT_EQ(found("sub/w"), (root / "model/sub/w").string());
  EXPECT_EQ(found("in"), (root / "model/sub/w").string());
  EXPECT_EQ(adjacent_path(owner, "m", &why), (root / "store/m").string());  // in the model's folder, behind its link
  for (const char* location : {"out", "up/secret", "../secret", "sub/../../secret", "", "/etc/passwd"})
    EXPECT_FALSE(found(location)) << location;
  EXPECT_FALSE(found("up"));
  EXPECT_EQ(why, "which leads out of the folder");
  fs::remove_all(root);
}

}  // namespace
}  // namespace relay
