// What lowering decides, as text: test/schedules has a file for each small network (test_networks.h), with the
// schedules of all its groups for three processors. A change of a rule is read as a difference of these files.
//
//   RELAY_BLESS=1 build/release/bin/relay_test_driver --gtest_filter=Schedules.*        writes them anew
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "relay/driver/compile.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"

namespace relay::driver {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(RELAY_SOURCE_DIR) / "test" / "schedules";
// Vectors of 8 and 16 lanes, one and two multiply-adds a cycle.
constexpr const char* processors[] = {"haswell", "zen4", "sapphirerapids"};

std::string schedules_of(const Network& network, const char* processor) {
  CompileOptions options;
  options.target = *find_target(processor);
  options.strict = true;
  Result<ir::Module> module = optimise(module_of(network), options);
  RELAY_CHECK(module, "{}", render(module.errors()));
  Result<build::LoweredProgram> lowered = lower_program(*module, {}, options);
  RELAY_CHECK(lowered, "{}", render(lowered.errors()));
  std::string out;
  for (const exec::LoweredSegment& segment : lowered->segments)
    for (const lower::Group& group : segment.lowered.groups) out += format("# {}\n{}", group.name, group.schedule);
  return out;
}

std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name + ".txt";
}

TEST(Schedules, AreAsTheyWere) {
  const bool bless = std::getenv("RELAY_BLESS") != nullptr;
  if (bless) fs::create_directories(folder);
  for (const Network& network : networks) {
    SCOPED_TRACE(network.name);
    std::string text = format("%x: {} {}\n{}\n", join(network.input, " x "), "float32", network.body);
    for (const char* processor : processors)
      text += format("\n=== {}\n{}", processor, schedules_of(network, processor));
    const fs::path path = folder / file_name(network.name);
    if (bless) std::ofstream(path) << text;
    std::ifstream in(path);
    std::stringstream blessed;
    blessed << in.rdbuf();
    const std::string before = blessed.str();
    const size_t same =
        static_cast<size_t>(std::mismatch(text.begin(), text.end(), before.begin(), before.end()).first - text.begin());
    EXPECT_TRUE(text == before) << path << ": from " << same << " on \"" << text.substr(same, 80) << "\", before \""
                                << before.substr(std::min(same, before.size()), 80)
                                << "\"; RELAY_BLESS=1 writes it anew: read the difference then";
  }
}

}  // namespace
}  // namespace relay::driver
