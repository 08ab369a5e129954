# The texts of src/relay/prelude/*.relay as strings of relay_prelude.
set(folder "${CMAKE_SOURCE_DIR}/src/relay/prelude")
file(GLOB texts CONFIGURE_DEPENDS "${folder}/*.relay")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${texts})
set(strings "")
foreach(text ${texts})
  get_filename_component(name "${text}" NAME_WE)
  file(READ "${text}" content)
  string(APPEND strings "    {\"${name}\", R\"relay(${content})relay\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/prelude_texts.cpp" @ONLY CONTENT [[
// Written by cmake/prelude.cmake.
#include <cstddef>
namespace relay::prelude {
struct Text {
  const char* name;
  const char* text;
};
extern const Text texts[] = {
@strings@};
extern const size_t text_count = sizeof(texts) / sizeof(texts[0]);
}  // namespace relay::prelude
]])
target_sources(relay_prelude PRIVATE "${CMAKE_BINARY_DIR}/prelude_texts.cpp")
