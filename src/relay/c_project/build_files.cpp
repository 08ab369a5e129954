// CMakeLists.txt, and the parts of README.md that all projects have.
#include "relay/base/bytes.h"
#include "relay/c_project/project_writer.h"

namespace relay::c_project {

static std::string filled(std::string text, const std::string& name, const std::string& prefix) {
  for (const auto& [mark, value] : {std::pair{"@NAME@", prefix}, {"@name@", name}})
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, 6, value);
  return text;
}

static constexpr const char* cmake_text = R"(# The library @name@, and its self-test @name@_test.
cmake_minimum_required(VERSION 3.13)
project(@name@ C)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
option(RELAY_FMA "Multiply-adds with one rounding: faster if the processor has the instruction, other last bits" OFF)

add_library(@name@ STATIC @sources@)
set_target_properties(@name@ PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_include_directories(@name@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(@name@ PRIVATE -Wall -Wextra -pedantic -Wconversion -fno-strict-aliasing -fno-math-errno)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "s390")
  # By default, C99 computes float in double there.
  target_compile_options(@name@ PUBLIC -fexcess-precision=fast)
endif()
if(RELAY_FMA)
  target_compile_definitions(@name@ PUBLIC RELAY_FMA)
endif()
if(UNIX)
  target_link_libraries(@name@ PUBLIC m)
endif()

add_executable(@name@_test main.c)
set_target_properties(@name@_test PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_link_libraries(@name@_test PRIVATE @name@)
enable_testing()
add_test(NAME @name@ COMMAND @name@_test@argument@)
)";

static void replace(std::string& text, const std::string& mark, const std::string& value) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
}

std::string ProjectWriter::cmake_lists() const {
  std::string text = filled(cmake_text, options_.name, prefix_);
  const bool arrays = !weights_.empty() && !has_weights_argument();
  replace(text, "@sources@", options_.name + ".c" + (arrays ? " " + options_.name + "_weights.c" : ""));
  replace(text, "@argument@",
          has_weights_argument() ? " ${CMAKE_CURRENT_SOURCE_DIR}/" + options_.name + ".weights" : "");
  return text;
}

std::string ProjectWriter::readme_beginning() const {
  return format(
      "# {}\n\n`{}` as C99, written by Relay {} for the machine `{}`. Build it and run its self-test:\n\n"
      "```\ncmake -S . -B build\ncmake --build build\nctest --test-dir build\n```\n\n",
      options_.name, options_.model, options_.version, options_.target);
}

// Functions of the C library, and the bits of results.
std::string ProjectWriter::readme_end() const {
  const std::vector<std::string> called = library_functions();
  std::string out = format(
      "\n`{0}.h` declares `{0}_run()`. It allocates nothing, has no writable static data, and may run several times "
      "at once, each time with its own workspace. Functions of the C library that it calls: memcpy, memcmp{1}{2}.\n\n",
      options_.name, called.empty() ? "" : ", ", join(called, ", "));
  if (has_weights_argument())
    out += format(
        "`{}.weights` ({} bytes, {}-endian) has the constants. Read it, or map it, at an address that is a multiple of "
        "{}.\n\n",
        options_.name, weights_file_bytes_, options_.big_endian ? "big" : "little", workspace_alignment);
  out += "Outputs have the same bits on every processor with IEEE arithmetic";
  out += options_.library_math ? ", except for exp, tanh and similar functions, which are the C library's.\n" : ".\n";
  out +=
      "`cmake -DRELAY_FMA=ON` uses multiply-adds with one rounding instead, which are faster on processors that have "
      "the instruction.\n";
  return out;
}

}  // namespace relay::c_project
