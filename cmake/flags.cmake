# How every file of ours is compiled. Headers are included as "relay/<layer>/x.h"; the include root is src/.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Hidden symbols: torch and others bring their own LLVM into the process that loads our extension.
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Our assertions stay on (no NDEBUG). Line tables cost a seventh of the time of a build and half of the program's size.
option(RELAY_LINE_TABLES "Compile RelWithDebInfo with line tables, for debuggers and profilers" OFF)
if(RELAY_LINE_TABLES)
  set(lines "-g1")
else()
  set(lines "-g0")
endif()
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O2 ${lines}")
  set(CMAKE_${language}_FLAGS_DEBUG "-O0 -g")
endforeach()

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror=switch;-Wno-unused-parameter>"
                    -ffunction-sections -fdata-sections)
# --as-needed: LLVM names shared libraries (z3, xml2, ...) that the parts we use do not call.
add_link_options(LINKER:--gc-sections,--as-needed)

set(RELAY_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined or thread")
if(RELAY_SANITIZE)
  # function: its check of a called function's type reads in front of it, where a kernel of the JIT has nothing.
  add_compile_options(-fsanitize=${RELAY_SANITIZE} -fno-sanitize=function -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RELAY_SANITIZE})
endif()

# Objects do not depend on where the checkout is: paths in messages and debug information start at the repository, and
# several checkouts share one compiler cache.
find_program(RELAY_CCACHE ccache)
if(RELAY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 ${RELAY_CCACHE})
  endforeach()
  file(RELATIVE_PATH root "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}") # ccache turns paths into relative ones
  string(REGEX REPLACE "/$" "" root "${root}")
else()
  set(root "${CMAKE_SOURCE_DIR}")
endif()
# The second map is for the sources of unity files, which include them by their absolute paths.
add_compile_options("-ffile-prefix-map=${root}/=" "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-fdebug-compilation-dir=.)
endif()
