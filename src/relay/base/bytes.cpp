#include "relay/base/bytes.h"

#include "relay/base/text.h"

namespace relay {

std::string bytes_text(int64_t bytes) {
  double size = static_cast<double>(bytes) / 1024;
  if (bytes < int64_t{1} << 20) return format("{:.4g} KiB", size);
  if (bytes < int64_t{1} << 30) return format("{:.4g} MiB", size / 1024);
  return format("{:.4g} GiB", size / (1 << 20));
}

}  // namespace relay
