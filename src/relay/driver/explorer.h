// The explorer: a compilation as one HTML file that needs no network, no server and no other file.
//
//   RELAY_ASSIGN(CompilationJson json, compilation_json(...));
//   RELAY_RETURN_IF_ERROR(write_file("report.html", explorer_page({json})));
//
// The page is made of the files of driver/explore/. Its data are blocks of text, deflated and in base64, that a browser
// never takes for code; its policy allows this script and this style and nothing else, so that names in a model can
// neither run nor fetch anything. docs/explorer.md describes its use.
#pragma once

#include <span>
#include <string>

#include "relay/driver/compilation_json.h"

namespace relay::driver {

// `compilations`: one, or two to compare.
std::string explorer_page(std::span<const CompilationJson> compilations);

}  // namespace relay::driver
