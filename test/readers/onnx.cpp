// Fuzzes the reader and the importer of ONNX models.
#include "input.h"
#include "relay/frontend/onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const relay::readers::InputFile file(relay::readers::text_of(data, size));
  relay::readers::is_sound(relay::onnx::load("/nowhere/model.onnx", {.content = file.path()}));
  return 0;
}
