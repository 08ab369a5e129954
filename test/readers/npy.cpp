// Fuzzes the reader of NumPy's arrays, and of zip files of them.
#include "relay/input/npy.h"

#include <cstring>

#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  const std::string_view bytes = readers::text_of(data, size);
  if (bytes.starts_with("PK")) {
    const readers::InputFile file(bytes);
    readers::is_sound(input::read_npz(file.path()));
    return 0;
  }
  Result<Tensor> array = input::parse_npy(bytes, "case");
  if (readers::is_sound(array) && array->elements() > 0) array->at(array->elements() - 1);
  return 0;
}
