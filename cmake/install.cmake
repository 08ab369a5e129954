# The files that `cmake --install` installs. In a wheel: the extension, which contains the command line (cmake/python.cmake).
# Otherwise two components. `cpp`, for C++ without Python: the program, the libraries, the headers under include/relay, the
# man page, the completions of shells, and a package, so that
#   find_package(relay) and target_link_libraries(app relay::relay_all)
# work elsewhere. `runtime` is enough to run compiled models: one archive, relay_c.h, and the package for
#   find_package(relay COMPONENTS runtime) and target_link_libraries(app relay::relay_runtime_aot)
# and for programs in C the shared library librelay_runtime.so, with relay-runtime.pc for pkg-config and the package for
#   find_package(relay COMPONENTS c) and target_link_libraries(app relay::c)
include(GNUInstallDirs)
if(DEFINED SKBUILD)
  return()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/relay")
if(TARGET relay)
  install(TARGETS relay RUNTIME COMPONENT cpp)
  # What the program prints about itself.
  set(pages "${CMAKE_BINARY_DIR}/pages")
  add_custom_command(TARGET relay POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${pages}"
    COMMAND relay help --man > "${pages}/relay.1"
    COMMAND relay completion bash > "${pages}/relay"
    COMMAND relay completion zsh > "${pages}/_relay"
    COMMAND relay completion fish > "${pages}/relay.fish" VERBATIM)
  install(FILES "${pages}/relay.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cpp)
  install(FILES "${pages}/relay" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cpp)
  install(FILES "${pages}/_relay" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT cpp)
  install(FILES "${pages}/relay.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT cpp)
endif()
install(TARGETS ${RELAY_LIBRARIES} EXPORT relayTargets ARCHIVE COMPONENT cpp)
install(EXPORT relayTargets NAMESPACE relay:: DESTINATION "${package_dir}" COMPONENT cpp)
install(DIRECTORY src/relay DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "testdata" EXCLUDE)
if(RELAY_PLUGIN_TARGETS)
  install(TARGETS ${RELAY_PLUGIN_TARGETS} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
endif()
install(TARGETS relay_runtime_aot EXPORT relayRuntimeTargets ARCHIVE COMPONENT runtime)
install(EXPORT relayRuntimeTargets NAMESPACE relay:: DESTINATION "${package_dir}" COMPONENT runtime)
install(TARGETS relay_runtime_shared EXPORT relayCTargets LIBRARY COMPONENT runtime)
install(EXPORT relayCTargets NAMESPACE relay:: DESTINATION "${package_dir}" COMPONENT runtime)
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/relay-runtime.pc.in relay-runtime.pc @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/relay-runtime.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT runtime)
install(FILES src/relay/runtime/relay_c.h src/relay/runtime/relay_cpp.h src/relay/runtime/relay_external.h
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/relay/runtime" COMPONENT runtime)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/relayConfig.cmake.in relayConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(relayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(component cpp runtime)
  install(FILES cmake/externals.cmake "${CMAKE_BINARY_DIR}/relayConfig.cmake" "${CMAKE_BINARY_DIR}/relayConfigVersion.cmake"
          DESTINATION "${package_dir}" COMPONENT ${component})
endforeach()
