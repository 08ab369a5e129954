#include "relay/accelerator/network.h"

#include <cstring>

namespace relay::accelerator {

void pack(const Array& a, const int8_t* from, uint8_t* to) {
  const int64_t plane = int64_t{a.height} * a.width;
  std::memset(to, 0, static_cast<size_t>(16 * a.beats()));
  for (int n = 0; n < a.images; ++n)
    for (int c = 0; c < a.channels; ++c) {
      const int8_t* in = from + (int64_t{n} * a.channels + c) * plane;
      uint8_t* out = to + (int64_t{n} * a.blocks() + c / lanes) * plane * lanes + c % lanes;
      for (int64_t k = 0; k < plane; ++k) out[k * lanes] = static_cast<uint8_t>(in[k]);
    }
}

// Byte `part` of numbers of T.
template <class T>
static void unpack_bytes(const Array& a, const uint8_t* from, T* to, int part) {
  const int64_t plane = int64_t{a.height} * a.width;
  for (int n = 0; n < a.images; ++n)
    for (int c = 0; c < a.channels; ++c) {
      T* out = to + (int64_t{n} * a.channels + c) * plane;
      const uint8_t* in = from + (int64_t{n} * a.blocks() + c / lanes) * plane * lanes + c % lanes;
      for (int64_t k = 0; k < plane; ++k) out[k] = static_cast<T>(out[k] | static_cast<T>(in[k * lanes]) << (8 * part));
    }
}

void unpack(const Array& a, const uint8_t* from, void* to) {
  std::memset(to, 0, static_cast<size_t>(a.elements()) * (a.is_wide ? 4 : 1));
  if (!a.is_wide) return unpack_bytes(a, from, static_cast<uint8_t*>(to), 0);
  for (int part = 0; part < 4; ++part)
    unpack_bytes(a, from + 16 * a.plane_beats() * part, static_cast<uint32_t*>(to), part);
}

}  // namespace relay::accelerator
