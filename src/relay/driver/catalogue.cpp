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

}  // namespace relay::driver
