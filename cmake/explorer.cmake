# The explorer's page, its style and its script (src/relay/driver/explore/) as strings of relay_driver. The script's files
# are joined in this order. The hashes are those that the page's content security policy names.
set(folder "${CMAKE_SOURCE_DIR}/src/relay/driver/explore")
set(RELAY_EXPLORER_SCRIPT "")
foreach(name data view layout draw overlays values compare panels state)
  file(READ "${folder}/${name}.js" content)
  string(APPEND RELAY_EXPLORER_SCRIPT "${content}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.js")
endforeach()
file(READ "${folder}/style.css" RELAY_EXPLORER_STYLE)
file(READ "${folder}/page.html" RELAY_EXPLORER_PAGE)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/style.css" "${folder}/page.html")
string(SHA256 RELAY_EXPLORER_SCRIPT_HASH "${RELAY_EXPLORER_SCRIPT}")
string(SHA256 RELAY_EXPLORER_STYLE_HASH "${RELAY_EXPLORER_STYLE}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/explorer_texts.cpp" @ONLY CONTENT [[
// Written by cmake/explorer.cmake.
namespace relay::driver {
extern const char explorer_page_text[] = R"relay(@RELAY_EXPLORER_PAGE@)relay";
extern const char explorer_style_text[] = R"relay(@RELAY_EXPLORER_STYLE@)relay";
extern const char explorer_style_hash[] = "@RELAY_EXPLORER_STYLE_HASH@";
extern const char explorer_script_text[] = R"relay(@RELAY_EXPLORER_SCRIPT@)relay";
extern const char explorer_script_hash[] = "@RELAY_EXPLORER_SCRIPT_HASH@";
}  // namespace relay::driver
]])
target_sources(relay_driver PRIVATE "${CMAKE_BINARY_DIR}/explorer_texts.cpp")
