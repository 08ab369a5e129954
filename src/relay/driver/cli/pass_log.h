// What passes did to a program: numbered texts in a folder, differences, a table of times (relay opt --trace, --diff,
// --timings).
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
    std::string folder;  // of the texts and their index; empty: none
    bool diff = false;   // a unified difference on stdout for every pass that changed the program
    bool each = false;   // the program on stdout after every pass
  };
  // `text`: a module as the log shows it.
  PassLog(Options options, std::function<std::string(const ir::Module&)> text)
      : options_(std::move(options)), text_(std::move(text)) {}

  // `given`: the program that no pass has seen. Makes the folder.
  Status begin(const ir::Module& given);
  void add(const transform::PassTrace& trace);
  // Writes the index; says what could not be written.
  Status end();
  // A line for each pass: its time, the nodes before and after it, and what it changed.
  std::string table() const;

 private:
  struct Row {
    std::string pass;
    double ms = 0;
    size_t before = 0, after = 0;  // nodes
    bool changed = false;
    std::string what;  // calls of operators that came and went, and rules that were applied
    std::string file;
  };
  Status write(const std::string& name, const std::string& text);

  Options options_;
  std::function<std::string(const ir::Module&)> text_;
  std::vector<Row> rows_;
  std::string before_;  // the text of the program that the last pass made
  Status status_ = ok();
};

}  // namespace relay::cli
