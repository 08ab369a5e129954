# The Python extension relay._core, from python/src/*.cpp. A build by hand puts it, with its stub, beside the package's
# Python files (python/relay), which dev/setup has put on the path of .venv; a wheel build installs both into the wheel.
file(GLOB python_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/src/*.cpp")
if(NOT python_sources)
  message(STATUS "python/src has no source yet: no Python extension")
  return()
endif()

if(NOT DEFINED SKBUILD AND NOT DEFINED Python_EXECUTABLE AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${CMAKE_SOURCE_DIR}/.venv/bin/python")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

# The stable ABI of Python 3.11, so that one wheel serves every later version. The code of nanobind itself is in the package
# nanobind-backend.
nanobind_add_module(_core BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11 NOMINSIZE ${python_sources})
relay_unity(_core ${python_sources})
target_link_libraries(_core PRIVATE relay_all)
# Nothing of LLVM or of ours is visible to the other libraries of the process.
target_link_options(_core PRIVATE LINKER:--exclude-libs,ALL)
if(DEFINED SKBUILD) # a wheel brings its C++ library along (dev/wheel)
  target_link_options(_core PRIVATE -static-libstdc++)
endif()

if(DEFINED SKBUILD)
  set(python_output "${CMAKE_BINARY_DIR}/python")
else()
  set(python_output "${CMAKE_SOURCE_DIR}/python/relay")
endif()
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${python_output}")
# Plugins are next to the extension. A wheel contains none, because their libraries are larger than the compiler.
if(NOT DEFINED SKBUILD)
  foreach(plugin ${RELAY_PLUGIN_TARGETS})
    add_custom_command(TARGET ${plugin} POST_BUILD
                       COMMAND "${CMAKE_COMMAND}" -E copy_if_different "$<TARGET_FILE:${plugin}>" "${python_output}")
  endforeach()
endif()
nanobind_add_stub(_core_stub MODULE _core OUTPUT "${python_output}/_core.pyi" PYTHON_PATH "${python_output}"
                  DEPENDS _core)
install(TARGETS _core LIBRARY DESTINATION relay COMPONENT python)
install(FILES "${python_output}/_core.pyi" DESTINATION relay COMPONENT python)
