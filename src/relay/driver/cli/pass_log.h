// The effects of passes on a program: numbered texts in a folder, differences, a table of times (relay opt --trace,
// --diff, --timings).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "relay/transform/pass.h"

namespace relay::cli {

class PassLog {
 public:
  struct Options {
    std::string folder;  // for the texts and their index; if empty, none are written
    bool diff = false;   // a unified difference on stdout for every pass that changed the program
    bool each = false;   // the program on stdout after every pass
  };
  // `text`: prints a module for the log.
  PassLog(Options options, std::function<std::string(const ir::Module&)> text)
      : options_(std::move(options)), text_(std::move(text)) {}

  // `given`: the program before all passes. Creates the folder.
  Status begin(const ir::Module& given);
  void add(const transform::PassTrace& trace);
  // Writes the index. Fails if a file could not be written.
  Status end();
  // A line for each pass: its time, the nodes before and after it, and its changes.
  std::string table() const;

 private:
  struct Row {
    std::string pass;
    double ms = 0;
    size_t before = 0, after = 0;  // nodes
    bool changed = false;
    std::string what;  // operator calls that were removed and added, and rules that were applied
    std::string file;
  };
  Status write(const std::string& name, const std::string& text);

  Options options_;
  std::function<std::string(const ir::Module&)> text_;
  std::vector<Row> rows_;
  std::string before_;  // the text of the program after the last pass
  Status status_ = ok();
};

}  // namespace relay::cli
