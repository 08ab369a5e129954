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

@object@add_library(@name@ STATIC @sources@)
set_target_properties(@name@ PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_include_directories(@name@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(@name@ PRIVATE -Wall -Wextra -pedantic -Wconversion -fno-strict-aliasing -fno-math-errno)
  # cmake --build . --target @name@_sizes: code, constants, workspace and stack.
  target_compile_options(@name@ PRIVATE -fstack-usage)
  string(REGEX REPLACE "nm([-0-9]*)$" "size\\1" RELAY_SIZE "${CMAKE_NM}")
  add_custom_target(@name@_sizes DEPENDS @name@
    COMMAND ${CMAKE_COMMAND} -DSIZE=${RELAY_SIZE} -DLIBRARY=$<TARGET_FILE:@name@>
    -DFRAMES=${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/@name@.dir -DNAME=@name@ -DWORKSPACE=@workspace@
    -P ${CMAKE_CURRENT_SOURCE_DIR}/sizes.cmake)
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

// Frames are those that the compiler noted. A kernel calls small functions, which may call one more.
static constexpr const char* sizes_text =
    R"cmake(# Prints the memory of the library: cmake --build BUILD --target @name@_sizes
function(say text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()

execute_process(COMMAND ${SIZE} -A ${LIBRARY} OUTPUT_VARIABLE sections)
string(REPLACE ";" " " sections "${sections}")
string(REPLACE "\n" ";" sections "${sections}")
set(object "")
macro(print_object)
  if(object)
    say("${object}  code ${code} constants ${constants} writable ${writable}")
  endif()
endmacro()
foreach(line IN LISTS sections)
  if(line MATCHES "^([^ ]+\\.o(bj)?) ")
    print_object()
    set(object "${CMAKE_MATCH_1}")
    set(code 0)
    set(constants 0)
    set(writable 0)
  elseif(line MATCHES "^\\.(text|rodata|data\\.rel\\.ro|data|bss)[^ ]* +([0-9]+)")
    set(section ${CMAKE_MATCH_1})
    set(bytes ${CMAKE_MATCH_2})
    if(section STREQUAL "text")
      math(EXPR code "${code} + ${bytes}")
    elseif(section STREQUAL "rodata" OR section STREQUAL "data.rel.ro")
      math(EXPR constants "${constants} + ${bytes}")
    else()
      math(EXPR writable "${writable} + ${bytes}")
    endif()
  endif()
endforeach()
print_object()
say("workspace ${WORKSPACE}")

# The deepest calls: the run, in programs with functions one of those and a segment, a kernel, and what it calls.
file(GLOB_RECURSE files ${FRAMES}/*.su)
set(deepest 0)
set(parts "")
foreach(level "${NAME}_run" "relay_execute" "function_" "segment_" "kernel_" "relay_")
  set(most 0)
  set(what "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines)
    foreach(line IN LISTS lines)
      if(line MATCHES ":([A-Za-z0-9_]+)(\\.[a-z0-9.]+)?[ \t]+([0-9]+)[ \t]")
        set(function ${CMAKE_MATCH_1})
        set(bytes ${CMAKE_MATCH_3})
        string(FIND "${function}" "${level}" at)
        if(at EQUAL 0 AND bytes GREATER most AND NOT (level STREQUAL "relay_" AND function STREQUAL "relay_execute"))
          set(most ${bytes})
          set(what ${function})
        endif()
      endif()
    endforeach()
  endforeach()
  if(level STREQUAL "relay_")
    math(EXPR most "2 * ${most}")
    set(what "functions that it calls")
  endif()
  if(most GREATER 0)
    math(EXPR deepest "${deepest} + ${most}")
    list(APPEND parts "${what} ${most}")
  endif()
endforeach()
string(REPLACE ";" ", " parts "${parts}")
say("stack at most ${deepest} bytes: ${parts}")
)cmake";

static void replace(std::string& text, const std::string& mark, const std::string& value) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
}

std::string ProjectWriter::sizes_script() const { return filled(sizes_text, options_.name, prefix_); }

std::string ProjectWriter::cmake_lists() const {
  std::string text = filled(cmake_text, options_.name, prefix_);
  const bool arrays = !weights_.empty() && !has_weights_argument();
  const std::string object = options_.name + "_kernels.o";
  replace(text, "@sources@",
          options_.name + ".c" + (arrays ? " " + options_.name + "_weights.c" : "") +
              (has_machine_code() ? " " + object : ""));
  replace(text, "@object@",
          has_machine_code()
              ? format("set_source_files_properties({} PROPERTIES EXTERNAL_OBJECT ON GENERATED OFF)\n", object)
              : "");
  replace(text, "@workspace@", format("{}", sizes().workspace));
  replace(text, "@argument@",
          has_weights_argument() ? " ${CMAKE_CURRENT_SOURCE_DIR}/" + options_.name + ".weights" : "");
  return text;
}

std::string ProjectWriter::readme_beginning() const {
  return format(
      "# {0}\n\n`{1}` as C99{4}, written by Relay {2} for the machine `{3}`. Build it and run its self-test:\n\n"
      "```\ncmake -S . -B build\ncmake --build build\nctest --test-dir build\ncmake --build build --target "
      "{0}_sizes\n```\n\n"
      "The last command prints the memory for code, constants, workspace and stack.\n\n",
      options_.name, options_.model, options_.version, options_.target,
      has_machine_code() ? format(" with kernels as machine code (`{}_kernels.o`)", options_.name) : "");
}

// Functions of the C library, and the bits of results.
std::string ProjectWriter::readme_end() const {
  const std::vector<std::string> called = library_functions();
  std::string out = format(
      "\n`{0}.h` declares `{0}_run()`. It allocates nothing, has no writable static data, and may run several times "
      "at once, each time with its own workspace. Functions of the C library that it calls: memcpy, "
      "memcmp{1}{2}{3}.\n\n",
      options_.name, called.empty() ? "" : ", ", join(called, ", "),
      has_machine_code() ? ", and those that the kernels call" : "");
  if (has_weights_argument())
    out += format(
        "`{}.weights` ({} bytes, {}-endian) has the constants. Read it, or map it, at an address that is a multiple of "
        "{}.\n\n",
        options_.name, weights_file_bytes_, options_.big_endian ? "big" : "little", workspace_alignment);
  if (has_machine_code()) return out;
  out += "Outputs have the same bits on every processor with IEEE arithmetic";
  out += options_.library_math ? ", except for exp, tanh and similar functions, which are the C library's.\n" : ".\n";
  out +=
      "`cmake -DRELAY_FMA=ON` uses multiply-adds with one rounding instead, which are faster on processors that have "
      "the instruction.\n";
  return out;
}

}  // namespace relay::c_project
