// Fuzzes the parser of Relay programs, the formatter, reading for editors and type inference; a printed program must
// parse again, and a formatted one must stay as it is.
#include "input.h"
#include "relay/text/format.h"
#include "relay/text/reading.h"
#include "relay/text/text.h"
#include "relay/typing/known_types.h"
#include "relay/typing/typing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  const auto source = std::make_shared<const Source>(Source{"input", std::string(readers::text_of(data, size))});
  typing::infer_known_types(text::read(source).module);
  if (const Result<std::string> formatted = text::formatted(source); readers::is_sound(formatted)) {
    const Result<std::string> again = text::formatted(std::make_shared<const Source>(Source{"input", *formatted}));
    if (!readers::is_sound(again) || *again != *formatted) std::abort();
  }
  Result<ir::Module> parsed = text::parse(source);
  if (!readers::is_sound(parsed)) return 0;
  Diagnostics warnings;
  Result<ir::Module> typed = typing::infer(*parsed, &warnings);
  if (readers::is_sound(typed) && !readers::is_sound(text::parse(text::str(*typed)))) std::abort();
  return 0;
}
