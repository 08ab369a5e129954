// The forms of models that the program reads.
#pragma once

#include <cstdint>

namespace relay::driver {

enum class ModelForm : uint8_t {
  Relay,
  Artifact,
#define RELAY_PYTHON_FORMAT(form, ...) form,
#include "relay/driver/python_formats.def"
#undef RELAY_PYTHON_FORMAT
#define RELAY_FRONTEND(form, ...) form,
#include "relay/driver/frontends.def"
#undef RELAY_FRONTEND
};
const char* name(ModelForm form);

}  // namespace relay::driver
