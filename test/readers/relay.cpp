// Fuzzes the parser of Relay programs and type inference; a printed program must parse again.
#include "input.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  Result<ir::Module> parsed = text::parse(std::string(readers::text_of(data, size)));
  if (!readers::is_sound(parsed)) return 0;
  Diagnostics warnings;
  Result<ir::Module> typed = typing::infer(*parsed, &warnings);
  if (readers::is_sound(typed) && !readers::is_sound(text::parse(text::str(*typed)))) std::abort();
  return 0;
}
