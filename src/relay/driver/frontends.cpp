#include "relay/driver/frontends.h"

#include "relay/frontend/onnx/import.h"
#include "relay/frontend/tflite/import.h"

namespace relay::driver {

static constexpr Frontend all[] = {
#define RELAY_FRONTEND(form, name, extension, room) \
  {ModelForm::form, name, extension, room::is_model, room::load, room::check},
#include "relay/driver/frontends.def"
#undef RELAY_FRONTEND
};

const char* name(ModelForm form) {
  switch (form) {
    case ModelForm::Relay: return "Relay program";
#define RELAY_PYTHON_FORMAT(form, name, ...) \
  case ModelForm::form: return name;
#include "relay/driver/python_formats.def"
#undef RELAY_PYTHON_FORMAT
    case ModelForm::Artifact: return "artifact";
    default: return frontend_of(form)->name;
  }
}

const Frontend* frontend_of(ModelForm form) {
  for (const Frontend& one : all)
    if (one.form == form) return &one;
  return nullptr;
}

const Frontend* frontend_by_content(std::string_view head) {
  for (const Frontend& one : all)
    if (one.is_model(head)) return &one;
  return nullptr;
}

const Frontend* frontend_by_extension(std::string_view extension) {
  for (const Frontend& one : all)
    if (extension == one.extension) return &one;
  return nullptr;
}

}  // namespace relay::driver
