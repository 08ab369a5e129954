# Coverage-guided fuzzers of the readers: one program a file of test/readers/, relay_read_<file>, linked to the layer that
# reads and to nothing more. Only in a build with RELAY_FUZZ; fuzzed.cmake says how it is compiled.
find_package(ZLIB REQUIRED)
set(readers_onnx relay_frontend_onnx)
set(readers_relay relay_typing)
set(readers_artifact relay_runtime)
set(readers_safetensors relay_tensor)
set(readers_schedule relay_lower_schedule)
set(readers_npy relay_tensor ZLIB::ZLIB)
add_custom_target(readers)
file(GLOB readers CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test/readers/*.cpp")
foreach(file ${readers})
  get_filename_component(name "${file}" NAME_WE)
  add_executable(relay_read_${name} EXCLUDE_FROM_ALL "${file}")
  target_link_libraries(relay_read_${name} PRIVATE ${readers_${name}})
  target_compile_options(relay_read_${name} PRIVATE ${RELAY_FUZZED_OPTIONS})
  target_compile_definitions(relay_read_${name} PRIVATE RELAY_FUZZ)
  target_link_options(relay_read_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  add_dependencies(readers relay_read_${name})
endforeach()
# Of the driver, which has LLVM in it, only these.
target_sources(relay_read_npy PRIVATE src/relay/driver/npy.cpp src/relay/driver/files.cpp
                                      src/relay/driver/foreign_files.cpp)
