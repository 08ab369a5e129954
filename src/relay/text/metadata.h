// The metadata section: constants that have no text in place. The form is described in text.h.
#pragma once

#include <unordered_map>

#include "relay/text/text.h"

namespace relay::text {

// Numbers constants as they are printed.
class MetadataWriter {
 public:
  explicit MetadataWriter(const PrintOptions& options) : options_(options) {}
  // 1f, True, or meta[relay.Constant][N]; the same node gets the same N.
  std::string constant(const ir::Constant* node);
  // The section, or nothing when there is nothing to say.
  std::string section(const ir::DictAttrs& module_attrs);

 private:
  const PrintOptions& options_;
  std::unordered_map<const ir::ExprNode*, size_t> numbers_;
  std::vector<Tensor> tensors_;
};

// What the section holds.
struct Metadata {
  std::vector<Tensor> constants;
  std::vector<std::string> devices;  // "cpu:1", what meta[VirtualDevice][N] stands for
  std::string module_attrs;          // attributes of the module, as text
};
// Reads both forms. `place` is where the section begins.
Result<Metadata> read_metadata(std::string_view json, const Span& place, const ParseOptions& options);

std::string base64(const void* data, size_t size);
bool from_base64(std::string_view text, std::vector<uint8_t>* out);

// Little endian hosts only, as everything that maps tensors from files.
std::string literal(const Tensor& scalar);  // "1f", "2i64"; empty when it has no literal

}  // namespace relay::text
