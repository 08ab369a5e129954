// Golden files: texts that tests compare with files. RELAY_BLESS=1 in the environment rewrites the files.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace relay::test {

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The *.relay files of a folder, sorted.
inline std::vector<std::filesystem::path> programs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".relay") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// Compares with the file, or writes it. A mismatch reports only the first differing line, however long the text is.
inline void expect_golden(const std::filesystem::path& path, const std::string& actual) {
  if (std::getenv("RELAY_BLESS")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  const std::string expected = read(path);
  const size_t same = static_cast<size_t>(
      std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end()).first - actual.begin());
  const size_t line = actual.rfind('\n', same ? same - 1 : 0) + 1;  // npos + 1 is 0
  auto of = [&](const std::string& text) {
    return line < text.size() ? text.substr(line, text.find('\n', line) - line) : std::string("(nothing)");
  };
  EXPECT_TRUE(actual == expected) << path
                                  << " differs (RELAY_BLESS=1 writes it anew: read the difference then)\n  now:    "
                                  << of(actual) << "\n  before: " << of(expected);
}

}  // namespace relay::test
