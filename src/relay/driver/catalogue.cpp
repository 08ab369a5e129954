#include "relay/driver/catalogue.h"

#include <map>

namespace relay::driver {

const Explanation& explain(DiagnosticKind kind) {
  static const std::map<DiagnosticKind, Explanation> all = {
#define RELAY_EXPLANATION(kind, example, remedy) {DiagnosticKind::kind, {example, remedy}},
#include "relay/driver/catalogue.def"
#undef RELAY_EXPLANATION
  };
  auto it = all.find(kind);
  RELAY_CHECK(it != all.end(), "catalogue.def does not explain {}", info(kind).name);
  return it->second;
}

const std::vector<CodeInfo>& all_codes() {
  static const std::vector<CodeInfo> all = [] {
    std::vector<CodeInfo> codes;
    for (const DiagnosticInfo& info : all_diagnostics()) {
      const Explanation& more = explain(info.kind);
      codes.push_back({info.code, info.name, info.sentence, more.example, more.remedy});
    }
#define RELAY_SCRIPT_PROBLEM(code, name, sentence, example, remedy) \
  codes.push_back({code, name, sentence, example, remedy});
#include "relay/driver/script_problems.def"
#undef RELAY_SCRIPT_PROBLEM
    return codes;
  }();
  return all;
}

}  // namespace relay::driver
