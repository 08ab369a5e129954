// Positions of the protocol: lines and UTF-16 units, both from 0. Offsets are in bytes.
#pragma once

#include <llvm/Support/LSP/Protocol.h>

#include <string_view>
#include <vector>

namespace relay::lsp {

using llvm::lsp::Position;
using llvm::lsp::Range;

class Lines {
 public:
  explicit Lines(std::string_view text);  // the text must outlive it
  Position position(uint32_t offset) const;
  Range range(uint32_t begin, uint32_t end) const { return {position(begin), position(end)}; }
  // A position behind the end of a line or of the text means that end.
  uint32_t offset(const Position& position) const;
  // The number of UTF-16 units of a part of a line.
  static int units(std::string_view text);

 private:
  std::string_view text_;
  std::vector<uint32_t> begins_;  // of the lines, which end with \n, \r\n or \r
};

}  // namespace relay::lsp
