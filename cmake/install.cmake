# What `cmake --install` gives. In a wheel: the extension (see cmake/python.cmake) and the `relay` program. Otherwise,
# for C++ without Python, the component `cpp`: the program, the libraries, the headers side by side under include/relay, and
# a package, so that
#   find_package(relay) and target_link_libraries(app relay::relay_all)
# work elsewhere. The component `runtime` is enough to run compiled models: one archive, relay_c.h, and the package for
#   find_package(relay COMPONENTS runtime) and target_link_libraries(app relay::relay_runtime_aot)
include(GNUInstallDirs)
if(DEFINED SKBUILD)
  if(TARGET relay)
    install(TARGETS relay RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT python)
  endif()
  return()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/relay")
if(TARGET relay)
  install(TARGETS relay RUNTIME COMPONENT cpp)
endif()
install(TARGETS ${RELAY_LIBRARIES} EXPORT relayTargets ARCHIVE COMPONENT cpp)
install(EXPORT relayTargets NAMESPACE relay:: DESTINATION "${package_dir}" COMPONENT cpp)
install(DIRECTORY src/relay DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "testdata" EXCLUDE)
install(TARGETS relay_runtime_aot EXPORT relayRuntimeTargets ARCHIVE COMPONENT runtime)
install(EXPORT relayRuntimeTargets NAMESPACE relay:: DESTINATION "${package_dir}" COMPONENT runtime)
install(FILES src/relay/runtime/relay_c.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/relay/runtime" COMPONENT runtime)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/relayConfig.cmake.in relayConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(relayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(component cpp runtime)
  install(FILES cmake/externals.cmake "${CMAKE_BINARY_DIR}/relayConfig.cmake" "${CMAKE_BINARY_DIR}/relayConfigVersion.cmake"
          DESTINATION "${package_dir}" COMPONENT ${component})
endforeach()
