// Messages for wrong programs. Each file of test/diagnostics holds small programs, each followed by its messages:
//
//   ### an if without an else
//   def @main(%c: bool) { if (%c) { 1 } }
//   >>>
//   error[R0101]: expected 'else': an if has two branches, found '}'
//   ...
//
// RELAY_BLESS=1 rewrites the messages; review them then. Every message has a place and a remedy (its help).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(RELAY_SOURCE_DIR) / "test" / "diagnostics";

struct Program {
  std::string title, text, expected;
};

std::vector<Program> programs_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<Program> out;
  bool expected = false;
  for (std::string line; std::getline(in, line);) {
    if (starts_with(line, "### ")) {
      out.push_back({line.substr(4), "", ""}), expected = false;
    } else if (line == ">>>") {
      expected = true;
    } else if (!out.empty()) {
      (expected ? out.back().expected : out.back().text) += line + "\n";
    }
  }
  return out;
}

// The program with its version line, which is left out in the files.
std::string source_text(const Program& program) {
  return starts_with(program.text, "#[") ? program.text : "#[version = \"0.0.5\"]\n" + program.text;
}

Diagnostics told(const Program& program) {
  Result<ir::Module> module = text::parse(std::make_shared<const Source>(Source{"program", source_text(program)}));
  if (!module) return module.errors();
  Diagnostics warnings;
  Result<ir::Module> typed = typing::infer(*module, &warnings);
  return typed ? warnings : typed.errors();
}

TEST(Diagnostics, of_wrong_programs) {
  bool bless = std::getenv("RELAY_BLESS") != nullptr;
  size_t count = 0;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::string blessed;
    for (const Program& program : programs_of(path)) {
      ++count;
      SCOPED_TRACE(path.filename().string() + ": " + program.title);
      Diagnostics messages = told(program);
      std::string text = render(messages);
      EXPECT_FALSE(messages.empty()) << "the program is right";
      for (const Diagnostic& d : messages) {
        EXPECT_TRUE(d.span) << d.message << "\nhas no place";
        EXPECT_FALSE(d.help.empty()) << d.message << "\nsays no way out";
      }
      if (!bless) EXPECT_EQ(text, program.expected);
      blessed += "### " + program.title + "\n" + program.text + ">>>\n" + text;
    }
    if (bless) std::ofstream(path) << blessed;
  }
  EXPECT_GE(count, 100u);
}

}  // namespace
}  // namespace relay::driver
