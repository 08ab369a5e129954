// All problems of an import, not only the first: problems are collected without duplicates, and consequences of a
// failed node are not reported.
//
// A problem has a code (diagnostics.def) that tells who has to act: unsupported_operator (R0403), Relay cannot do it
// yet; bad_model (R0404) and corrupt_file (R0402), the model contradicts its format or is truncated; bad_option, the
// options do not fit the model.
#pragma once

#include <map>

#include "relay/base/diagnostics.h"
#include "relay/base/function_ref.h"

namespace relay::frontend {

class Problems {
 public:
  void add(Diagnostic diagnostic);
  bool empty() const { return shown_.empty(); }
  size_t count() const { return shown_.size() + more_; }
  // The problems after the first `count`, as far as they are among the first hundred.
  Diagnostics since(size_t count) const;
  // The first hundred; the last of them has the number of all others.
  Diagnostics all() const;

 private:
  Diagnostics shown_;
  size_t more_ = 0;
};

// The uses of one foreign operator in a model.
struct OperatorUse {
  std::string op;       // "Conv", "com.microsoft.FusedMatMul"
  int64_t version = 0;  // of the operator's set (ONNX: opset of its domain); 0 if unspecified
  size_t count = 0;
  bool has_converter = false;
  Span first{};                          // the first node that uses it
  std::string reason = {}, remedy = {};  // reason why a node of it cannot be imported; "" if all can
};

// Counts the operators of a model. Names are views into the model, which must outlive this.
class OperatorUses {
 public:
  // Counts a node of operator `name` of `domain` (ONNX's own: ""). `place` returns the node's place and is only called
  // for the first use.
  void add(std::string_view domain, std::string_view name, int64_t version, bool has_converter,
           function_ref<Span()> place);
  // Operators without a converter first, then by count.
  std::vector<OperatorUse> sorted() const;
  // Reports a problem for every operator without a converter, with its count and its first node. `explain` adds similar
  // names and the remedy; `version_word` is the format's word for a version ("opset"; "" if it has none).
  using Explain = function_ref<void(std::string_view domain, std::string_view name, Diagnostic& diagnostic)>;
  void report_missing(Problems& problems, const char* version_word, Explain explain) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, OperatorUse> uses_;  // by domain and name
};

}  // namespace relay::frontend
