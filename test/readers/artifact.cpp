// Fuzzes the reader of artifacts behind its checksum and its lengths: these are corrected first. The code is not
// loaded.
#include "relay/runtime/artifacts/artifact.h"

#include <cstring>
#include <new>

#include "input.h"
#include "relay/runtime/artifacts/artifact_format.h"

// A case that grew or shrank is assumed to have changed in its description: the header gets the new length, and later
// parts move accordingly. Otherwise inserted bytes would always fail the check of the file's length.
static std::string laid_out(std::string_view given) {
  relay::runtime::Header h;
  if (given.size() < sizeof(h)) return std::string(given);
  std::memcpy(&h, given.data(), sizeof(h));
  const uint64_t more = given.size() - h.file_bytes;  // wraps around if negative
  const uint64_t end = h.description_offset + h.description_bytes + more, rest = h.code_offset + more;
  if (more == 0 || end < h.description_offset || end > rest || rest > given.size()) return std::string(given);
  std::string out(given.substr(0, end));
  out.resize(relay::runtime::aligned(end), 0);
  h.description_bytes += more, h.code_offset = out.size();
  out += given.substr(rest);
  h.file_bytes = out.size();
  if (out.size() >= sizeof(h)) std::memcpy(out.data(), &h, sizeof(h));
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  std::string bytes = laid_out(readers::text_of(data, size));
  runtime::reseal_artifact(bytes);
  constexpr std::align_val_t alignment{64};
  const std::shared_ptr<char> storage(
      static_cast<char*>(::operator new(bytes.size() + (bytes.empty() ? 1 : 0), alignment)),
      [](char* p) { ::operator delete(p, alignment); });
  if (!bytes.empty()) std::memcpy(storage.get(), bytes.data(), bytes.size());
  readers::is_sound(runtime::read_artifact({storage.get(), bytes.size()}, storage, "case"));
  return 0;
}
