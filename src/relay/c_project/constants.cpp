// The constants of a project: NAME_weights.c with its header, or NAME.weights.
#include <bit>

#include "relay/base/stable_hash.h"
#include "relay/c_project/project_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

std::string ProjectWriter::weights_header() const {
  std::string out =
      title() + format(
                    "#ifndef {0}_WEIGHTS_H\n#define {0}_WEIGHTS_H\n\n#include <stdint.h>\n\n"
                    "/* Define it to put the constants elsewhere, such as __attribute__((section(\".flash2\"))). */\n"
                    "#ifndef {0}_CONSTANT\n#define {0}_CONSTANT\n#endif\n\n",
                    prefix_);
  for (const auto& [constant, weight] : weights_) {
    const Tensor& t = program_.constants[constant];
    out += format("extern {}_CONSTANT const {} {}[{}]; /* {} */\n", prefix_, codegen::c_stored_type(t.dtype()),
                  weight.name, std::max<int64_t>(t.elements(), 1), type_text(t.dtype(), t.shape()));
  }
  return out + "\n#endif\n";
}

std::string ProjectWriter::weights_source() const {
  std::string out = title() + format("#include \"{}_weights.h\"\n\n#include <math.h>\n", options_.name);
  for (const auto& [constant, weight] : weights_) {
    const Tensor& t = program_.constants[constant];
    out += format("\n{}_CONSTANT const {} {}[{}] = {{\n", prefix_, codegen::c_stored_type(t.dtype()), weight.name,
                  std::max<int64_t>(t.elements(), 1));
    out += literal(t);
    out += "};\n";
  }
  return out;
}

// A number that depends on all constants, and on their places in the file.
uint64_t ProjectWriter::weights_identity() const {
  std::string all;
  for (const auto& [constant, weight] : weights_) {
    const Tensor& t = program_.constants[constant];
    const std::string_view bytes(static_cast<const char*>(t.data()), t.bytes());
    all += format("{} {} {:016x};", weight.offset, type_text(t.dtype(), t.shape()), stable_hash(bytes));
  }
  return stable_hash(all);
}

Result<std::string> ProjectWriter::weights_file() const {
  std::string out = "RELAYWTS";
  auto add = [&](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int at = options_.big_endian ? bytes - 1 - i : i;
      out += static_cast<char>(value >> (8 * at) & 255);
    }
  };
  add(byte_order_mark, 4), add(weights_version, 4), add(static_cast<uint64_t>(weights_file_bytes_), 8);
  add(weights_identity(), 8);
  std::map<int64_t, uint32_t> by_offset;
  for (const auto& [constant, weight] : weights_) by_offset[weight.offset] = constant;
  const bool here = (std::endian::native == std::endian::big) == options_.big_endian;
  for (const auto& [offset, constant] : by_offset) {
    out.resize(static_cast<size_t>(offset));
    const Tensor& t = program_.constants[constant];
    if (here)
      out.append(static_cast<const char*>(t.data()), t.bytes());
    else
      out += reversed_elements(t);
  }
  out.resize(static_cast<size_t>(weights_file_bytes_));
  return out;
}

}  // namespace relay::c_project
