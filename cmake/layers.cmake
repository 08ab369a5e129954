# One static library a line of src/relay/LAYERS: relay_base, relay_target_x86, ... A layer is made of the *.cpp files in
# its folder and the folders below it that are not layers themselves, less *_test.cpp and main.cpp, and is linked to
# exactly what its line names. A layer without a source is a library of headers. RELAY_LAYERS lists the layers,
# RELAY_TESTS_<layer> the tests of one; relay_all links them all.
#
# relay_runtime_aot is one archive for programs that only run models, compiled with `relay compile --aot` or without
# control flow: the runtime and all below it, less the virtual machine.
include(externals)
find_package(Threads REQUIRED)

set(layers_file "${CMAKE_SOURCE_DIR}/src/relay/LAYERS")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${layers_file}")
file(STRINGS "${layers_file}" lines)
set(RELAY_LAYERS "")
set(RELAY_EXTERNALS "")
foreach(line ${lines})
  string(REGEX REPLACE "#.*" "" line "${line}")
  if(NOT line MATCHES "^([a-z0-9_/]+):(.*)$")
    continue()
  endif()
  set(folder "${CMAKE_MATCH_1}")
  separate_arguments(needs_${folder} UNIX_COMMAND "${CMAKE_MATCH_2}")
  list(APPEND RELAY_LAYERS ${folder})
endforeach()

# Each file belongs to the layer with the longest folder that holds it.
file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/src/relay" "${CMAKE_SOURCE_DIR}/src/relay/*.cpp")
foreach(file ${files})
  get_filename_component(folder "${file}" DIRECTORY)
  while(folder AND NOT folder IN_LIST RELAY_LAYERS)
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  if(NOT folder)
    message(WARNING "src/relay/${file} is in no layer of src/relay/LAYERS and is not built")
  elseif(file MATCHES "_test\\.cpp$")
    list(APPEND RELAY_TESTS_${folder} "src/relay/${file}")
  elseif(file STREQUAL "runtime/without_vm.cpp")
    continue() # of relay_runtime_aot
  elseif(NOT file MATCHES "(^|/)main\\.cpp$")
    list(APPEND sources_${folder} "src/relay/${file}")
  endif()
endforeach()

add_library(relay_all INTERFACE)
set(RELAY_LIBRARIES relay_all)
foreach(folder ${RELAY_LAYERS})
  string(REPLACE "/" "_" library "relay_${folder}")
  if(sources_${folder})
    add_library(${library} STATIC ${sources_${folder}})
    set(how PUBLIC)
  else()
    add_library(${library} INTERFACE)
    set(how INTERFACE)
  endif()
  target_include_directories(${library} ${how} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  target_compile_features(${library} ${how} cxx_std_20)
  if(RELAY_FUZZ AND folder IN_LIST RELAY_FUZZED_LAYERS AND sources_${folder})
    target_compile_options(${library} PRIVATE ${RELAY_FUZZED_OPTIONS})
    target_compile_definitions(${library} PRIVATE RELAY_FUZZ)
  endif()
  target_link_libraries(${library} ${how} Threads::Threads)
  foreach(need ${needs_${folder}})
    if(need MATCHES "^<")
      relay_find_external("${need}" target)
      if(need MATCHES "^<(llvm|lld)/>$")
        target_link_libraries(${library} ${how} relay_llvm_standins)
      endif()
      list(APPEND RELAY_EXTERNALS "${need}")
      target_link_libraries(${library} ${how} ${target})
    else()
      string(REPLACE "/" "_" need "relay_${need}")
      target_link_libraries(${library} ${how} ${need})
    endif()
  endforeach()
  target_link_libraries(relay_all INTERFACE ${library})
  list(APPEND RELAY_LIBRARIES ${library})
endforeach()
list(REMOVE_DUPLICATES RELAY_EXTERNALS)

add_library(relay_runtime_aot STATIC src/relay/runtime/without_vm.cpp $<TARGET_OBJECTS:relay_base>
            $<TARGET_OBJECTS:relay_tensor>
            "$<FILTER:$<TARGET_OBJECTS:relay_runtime>,EXCLUDE,/(vm|with_vm)[.]cpp[.]o$>")
target_include_directories(relay_runtime_aot PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                    $<INSTALL_INTERFACE:include>)
target_compile_features(relay_runtime_aot PRIVATE cxx_std_20)
target_link_libraries(relay_runtime_aot PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
foreach(folder base tensor runtime)
  foreach(need ${needs_${folder}})
    if(need MATCHES "^<")
      relay_find_external("${need}" target)
      target_link_libraries(relay_runtime_aot PUBLIC ${target})
      list(APPEND RELAY_RUNTIME_EXTERNALS "${need}")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES RELAY_RUNTIME_EXTERNALS)

# The runtime with the virtual machine as a shared library for programs in C: librelay_runtime.so. Only what relay_c.h
# declares is visible, and nothing else needs to be linked.
add_library(relay_runtime_shared SHARED $<TARGET_OBJECTS:relay_base> $<TARGET_OBJECTS:relay_tensor>
            $<TARGET_OBJECTS:relay_runtime>)
set_target_properties(relay_runtime_shared PROPERTIES OUTPUT_NAME relay_runtime EXPORT_NAME c VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINKER_LANGUAGE CXX)
target_include_directories(relay_runtime_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                          $<INSTALL_INTERFACE:include>)
target_link_libraries(relay_runtime_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(relay_runtime_shared PRIVATE LINKER:--no-undefined LINKER:--exclude-libs,ALL)
foreach(need ${RELAY_RUNTIME_EXTERNALS})
  relay_find_external("${need}" target)
  target_link_libraries(relay_runtime_shared PRIVATE ${target})
endforeach()

# See cmake/llvm_standins.cpp. "-u" takes the stand-ins out of their archive before LLVM's archives are searched.
if("<llvm/>" IN_LIST RELAY_EXTERNALS)
  set(absent ${LLVM_TARGETS_TO_BUILD})
  list(REMOVE_ITEM absent ${RELAY_LLVM_TARGETS})
  list(TRANSFORM absent REPLACE "(.+)" "ABSENT(\\1)")
  list(JOIN absent " " absent)
  add_library(relay_llvm_standins STATIC cmake/llvm_standins.cpp)
  target_compile_definitions(relay_llvm_standins PRIVATE "RELAY_ABSENT_TARGETS=${absent}")
  target_include_directories(relay_llvm_standins SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_link_options(relay_llvm_standins INTERFACE LINKER:-u,_Z18getPollyPluginInfov)
  list(APPEND RELAY_LIBRARIES relay_llvm_standins)
endif()
