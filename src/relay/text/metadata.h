// The metadata section: constants that are not written in place. Its form is described in text.h.
#pragma once

#include <unordered_map>

#include "relay/text/text.h"

namespace relay::text {

// Numbers constants in the order in which they are printed.
class MetadataWriter {
 public:
  explicit MetadataWriter(const PrintOptions& options) : options_(options) {}
  // 1f, True, or meta[relay.Constant][N]; the same node always gets the same N.
  std::string constant(const ir::Constant* node);
  // The section, or "" if it would be empty.
  std::string section(const ir::DictAttrs& module_attrs);

 private:
  const PrintOptions& options_;
  std::unordered_map<const ir::ExprNode*, size_t> numbers_;
  std::vector<Tensor> tensors_;
};

// The contents of the section.
struct Metadata {
  std::vector<Tensor> constants;
  std::vector<std::string> devices;  // "cpu:1", referred to as meta[VirtualDevice][N]
  std::string module_attrs;          // attributes of the module, as text
};
// Reads both forms. `place` is the beginning of the section.
Result<Metadata> read_metadata(std::string_view json, const Span& place, const ParseOptions& options);

std::string base64(const void* data, size_t size);
bool from_base64(std::string_view text, std::vector<uint8_t>* out);

// Only for little-endian hosts, like all code that maps tensors from files.
std::string literal(const Tensor& scalar);  // "1f", "2i64"; empty if it has no literal

}  // namespace relay::text
