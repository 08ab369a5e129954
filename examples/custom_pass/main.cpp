// A user-defined pass, without a change to Relay: reads a program from stdin, prints it after merge_clip.
#include <iostream>
#include <iterator>

#include "relay/text/text.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {
Result<ir::Module> merge_clip(const ir::Module& module, PassContext& context);
}

using namespace relay;

static Status run() {
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  RELAY_ASSIGN(ir::Module module, text::parse(text));
  RELAY_ASSIGN(module, typing::infer(module));
  transform::PassContext context;
  RELAY_ASSIGN(module, transform::merge_clip(module, context));
  RELAY_ASSIGN(module, typing::infer(module));  // the nodes that the pass made
  std::cout << text::str(module);
  return ok();
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
