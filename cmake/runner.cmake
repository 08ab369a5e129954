# relay-run: runs compiled models without the compiler (src/relay/runner/main.cpp). A static program, so that one file is
# all that a board needs. `cmake --build --preset release --target relay_run`; the preset aarch64 makes the one for 64-bit
# ARM.
#
# It names the archives that it is made of, because the libraries that they need are shared objects elsewhere
# (cmake/static_standins.cpp), and of the layer `input` takes the files that need no other layer.
add_executable(relay_run EXCLUDE_FROM_ALL src/relay/runner/main.cpp cmake/static_standins.cpp)
foreach(file array_text files foreign_files npy random_tensor)
  target_sources(relay_run PRIVATE src/relay/input/${file}.cpp)
endforeach()
set_target_properties(relay_run PROPERTIES OUTPUT_NAME relay-run POSITION_INDEPENDENT_CODE OFF)
target_include_directories(relay_run PRIVATE src)
target_compile_options(relay_run PRIVATE $<$<CONFIG:RelWithDebInfo>:-Os>)
target_link_options(relay_run PRIVATE -static LINKER:--strip-debug)
foreach(layer runtime runtime_program tensor base)
  add_dependencies(relay_run relay_${layer})
  target_link_libraries(relay_run PRIVATE $<TARGET_FILE:relay_${layer}>)
endforeach()
target_link_libraries(relay_run PRIVATE hwloc z)
