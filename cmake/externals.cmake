# The foreign libraries that src/relay/LAYERS may name in angle brackets. relay_find_external("<fmt/>" out) finds one
# and gives the imported target that a layer links; the installed package includes this file for the same purpose.

# The LLVM back ends that are linked in, and the parts of LLVM that codegen and lld use. Archives: what is not referenced
# is not linked, so a generous list costs nothing.
set(RELAY_LLVM_TARGETS X86 AArch64 RISCV NVPTX)
set(RELAY_LLVM_COMPONENTS Core Support TargetParser MC Target CodeGen OrcJIT Passes TransformUtils Linker
    BitWriter BitReader Object SupportLSP)
set(RELAY_LLD_COMPONENTS BinaryFormat BitWriter Core DebugInfoDWARF Demangle DTLTO LTO MC Object Option Passes Support
    TargetParser TransformUtils)
foreach(relay_llvm_target ${RELAY_LLVM_TARGETS})
  if(relay_llvm_target STREQUAL NVPTX) # LLVM only writes its assembly
    set(relay_llvm_parts CodeGen Desc Info)
  else()
    set(relay_llvm_parts CodeGen AsmParser Desc Info Disassembler)
  endif()
  foreach(relay_llvm_part ${relay_llvm_parts})
    list(APPEND RELAY_LLVM_COMPONENTS ${relay_llvm_target}${relay_llvm_part})
    list(APPEND RELAY_LLD_COMPONENTS ${relay_llvm_target}${relay_llvm_part})
  endforeach()
endforeach()

macro(relay_find_llvm)
  # "22.1": LLVM's version file accepts only the same major.minor, so a bare 22 is refused.
  find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
  # The pass builder's archive asks for Polly, which is packaged apart; cmake/llvm_standins.cpp stands in for it.
  if(TARGET LLVMExtensions)
    set_target_properties(LLVMExtensions PROPERTIES INTERFACE_LINK_LIBRARIES LLVMSupport)
  endif()
endmacro()

# Whether a library that only plugins use is there; others must be.
macro(relay_has_external external out)
  set(${out} TRUE)
  if("${external}" STREQUAL "<oneapi/>")
    find_library(RELAY_DNNL dnnl)
    find_path(RELAY_DNNL_INCLUDE oneapi/dnnl/dnnl_version.h)
    set(${out} FALSE)
    if(RELAY_DNNL AND RELAY_DNNL_INCLUDE)
      # Its interface has another form from version 3 on.
      file(STRINGS "${RELAY_DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h" relay_dnnl_version REGEX "define DNNL_VERSION_MAJOR 2$")
      if(relay_dnnl_version)
        set(${out} TRUE)
      endif()
    endif()
  endif()
endmacro()

macro(relay_find_external external out)
  string(REGEX REPLACE "[^A-Za-z0-9]" "" ${out} "${external}")
  set(${out} "relay_external_${${out}}")
  if(NOT TARGET ${${out}})
    add_library(${${out}} INTERFACE IMPORTED GLOBAL)
    if("${external}" STREQUAL "<fmt/>")
      find_package(fmt REQUIRED)
      target_link_libraries(${${out}} INTERFACE fmt::fmt)
    elseif("${external}" STREQUAL "<nlohmann/>")
      find_package(nlohmann_json REQUIRED)
      target_link_libraries(${${out}} INTERFACE nlohmann_json::nlohmann_json)
    elseif("${external}" STREQUAL "<CLI/>")
      find_package(CLI11 REQUIRED)
      target_link_libraries(${${out}} INTERFACE CLI11::CLI11)
    elseif("${external}" STREQUAL "<hwloc.h>")
      target_link_libraries(${${out}} INTERFACE hwloc)
    elseif("${external}" STREQUAL "<sqlite3.h>")
      target_link_libraries(${${out}} INTERFACE sqlite3)
    elseif("${external}" STREQUAL "<zlib.h>")
      target_link_libraries(${${out}} INTERFACE z)
    elseif("${external}" STREQUAL "<dlfcn.h>")
      target_link_libraries(${${out}} INTERFACE ${CMAKE_DL_LIBS})
    elseif("${external}" STREQUAL "<oneapi/>")
      target_include_directories(${${out}} SYSTEM INTERFACE "${RELAY_DNNL_INCLUDE}")
      target_link_libraries(${${out}} INTERFACE "${RELAY_DNNL}")
    elseif("${external}" MATCHES "^<(protozero/|flatbuffers/|xxhash\\.h|CL/)>$")
      # Headers only, in the compiler's own search path.
    elseif("${external}" STREQUAL "<llvm/>")
      relay_find_llvm()
      llvm_map_components_to_libnames(relay_llvm_libraries ${RELAY_LLVM_COMPONENTS})
      target_include_directories(${${out}} SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
      target_link_libraries(${${out}} INTERFACE ${relay_llvm_libraries})
    elseif("${external}" STREQUAL "<lld/>")
      # Not find_package(LLD): its targets ask for the shared LLVM, and one process must not hold two.
      relay_find_llvm()
      llvm_map_components_to_libnames(relay_llvm_libraries ${RELAY_LLD_COMPONENTS})
      target_include_directories(${${out}} SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
      foreach(relay_lld_part lldELF lldCommon)
        add_library(relay_external_${relay_lld_part} STATIC IMPORTED GLOBAL)
        set_target_properties(relay_external_${relay_lld_part} PROPERTIES
                              IMPORTED_LOCATION ${LLVM_LIBRARY_DIR}/lib${relay_lld_part}.a
                              INTERFACE_LINK_LIBRARIES "${relay_llvm_libraries};z;zstd")
      endforeach()
      target_link_libraries(relay_external_lldELF INTERFACE relay_external_lldCommon)
      target_link_libraries(${${out}} INTERFACE relay_external_lldELF)
    else()
      message(FATAL_ERROR "${external} is named in LAYERS; cmake/externals.cmake does not say how to find it")
    endif()
  endif()
endmacro()
