// All that stands in the way of an import, not the first of it: problems are collected, each once, and what follows
// from a failed node is passed over in silence.
//
// A problem has a code (diagnostics.def) that says who has to act: unsupported_operator (R0403), Relay cannot do it
// yet; bad_model (R0404) and corrupt_file (R0402), the model contradicts its format or is cut off; bad_option, what was
// asked for does not fit the model.
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
  // Those that were added after the first `count`, of the first hundred.
  Diagnostics since(size_t count) const;
  // The first hundred; the last of them says how many there are besides.
  Diagnostics all() const;

 private:
  Diagnostics shown_;
  size_t more_ = 0;
};

// How a model uses one foreign operator.
struct OperatorUse {
  std::string op;       // "Conv", "com.microsoft.FusedMatMul"
  int64_t version = 0;  // of the operator's set (ONNX: opset of its domain); 0: not said
  size_t count = 0;
  bool has_converter = false;
  Span first{};                          // the first node that uses it
  std::string reason = {}, remedy = {};  // why a node of it cannot be imported; "": all can
};

// Counts the operators of a model. Names are views into the model, which must outlive this.
class OperatorUses {
 public:
  // One node of operator `name` of `domain` (ONNX's own: ""). `place` makes the node's place, for the first use only.
  void add(std::string_view domain, std::string_view name, int64_t version, bool has_converter,
           function_ref<Span()> place);
  // Those without a converter first, then by count.
  std::vector<OperatorUse> sorted() const;
  // A problem for every operator without a converter, with its count and its first node. `explain` adds what is near
  // and the remedy; `version_word` is what the format calls a version ("opset"; "": it has none).
  using Explain = function_ref<void(std::string_view domain, std::string_view name, Diagnostic& diagnostic)>;
  void report_missing(Problems& problems, const char* version_word, Explain explain) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, OperatorUse> uses_;  // by domain and name
};

}  // namespace relay::frontend
