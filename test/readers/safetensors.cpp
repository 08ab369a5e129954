// Fuzzes the reader of safetensors files.
#include "relay/tensor/safetensors.h"

#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  const readers::InputFile file(readers::text_of(data, size));
  Result<NamedTensors> tensors = read_safetensors(file.path());
  if (!readers::is_sound(tensors)) return 0;
  for (const auto& [name, tensor] : *tensors)
    if (tensor.elements() > 0) tensor.at(tensor.elements() - 1);
  return 0;
}
