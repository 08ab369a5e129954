// Fuzzes the reader of artifacts, behind its checksum: that is made right again first. The code is not loaded.
#include "relay/runtime/artifact.h"

#include <cstring>
#include <new>

#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  std::string bytes(readers::text_of(data, size));
  runtime::reseal_artifact(bytes);
  constexpr std::align_val_t alignment{64};
  const std::shared_ptr<char> storage(
      static_cast<char*>(::operator new(bytes.size() + (bytes.empty() ? 1 : 0), alignment)),
      [](char* p) { ::operator delete(p, alignment); });
  if (!bytes.empty()) std::memcpy(storage.get(), bytes.data(), bytes.size());
  readers::is_sound(runtime::read_artifact({storage.get(), bytes.size()}, storage, "case"));
  return 0;
}
