// Messages from a descriptor, with a note of the moments when none is waiting.
#pragma once

#include <llvm/Support/LSP/Transport.h>

#include <functional>
#include <string>

namespace relay::lsp {

class Input : public llvm::lsp::JSONTransportInput {
 public:
  // `idle` is called when no message has come for a while, before the next one is waited for. It returns true if there
  // is more to do when again nothing comes.
  Input(int descriptor, std::function<bool()> idle) : descriptor_(descriptor), idle_(std::move(idle)) {}

  bool hasError() const override { return failed_; }
  bool isEndOfInput() const override { return ended_; }
  llvm::LogicalResult readStandardMessage(std::string& json) override;
  llvm::LogicalResult readDelimitedMessage(std::string& json) override { return readStandardMessage(json); }

 private:
  static constexpr int quiet_milliseconds = 20;
  static constexpr size_t largest_message = size_t{1} << 30;  // bytes

  bool fill();  // reads more; false at the end
  void wait();

  int descriptor_;
  std::function<bool()> idle_;
  std::string buffer_;
  bool failed_ = false, ended_ = false;
};

}  // namespace relay::lsp
