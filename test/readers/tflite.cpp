// Fuzzes the reader and the importer of TFLite models.
#include "input.h"
#include "relay/frontend/tflite/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const relay::readers::InputFile file(relay::readers::text_of(data, size));
  relay::readers::is_sound(relay::tflite::load("/nowhere/model.tflite", {.content = file.path()}));
  return 0;
}
