// Compilations as JSON and as pages.
#include "core.h"
#include "interruptible.h"
#include "relay/base/interrupt.h"
#include "relay/driver/explorer.h"
#include "relay/driver/targets.h"

namespace relay::python {

// The object without its texts, and the texts: CompilationJson.
static std::pair<std::string, std::string> compilation_json_of(const PyModule& m, const std::string& name,
                                                               const std::string& target, int threads,
                                                               const std::string& numerics, int opt_level,
                                                               const std::string& mode, bool texts) {
  driver::CompileOptions options;
  options.target = take(driver::find_target(target));
  options.threads = threads, options.opt_level = opt_level, options.run_here = false;
  options.numerics = take(driver::find_numerics(numerics)), options.mode = take(driver::find_mode(mode));
  options.output_names = m.output_names;
  std::shared_ptr<driver::CompilationJson> made = std::make_shared<driver::CompilationJson>();
  run_interruptibly([made, module = m.module, options, name, texts]() mutable {
    driver::Recording recording;
    options.trace = [&](const transform::PassTrace& trace) {
      check_interrupt();
      recording.see(trace);
    };
    const driver::Compiled compiled = take(driver::compile(module, options));
    *made =
        take(driver::compilation_json({.model = name, .recording = recording, .compiled = compiled, .texts = texts}));
  });
  return {made->graph, made->texts};
}

void add_explore(nb::module_& m) {
  m.def("compilation_json", compilation_json_of, nb::arg("module"), nb::arg("name"), nb::arg("target"),
        nb::arg("threads"), nb::arg("numerics"), nb::arg("opt_level"), nb::arg("mode"), nb::arg("texts"));
  m.def(
      "explorer_page",
      [](const std::vector<std::pair<std::string, std::string>>& compilations) {
        std::vector<driver::CompilationJson> all;
        for (const auto& [graph, texts] : compilations) all.push_back({graph, texts});
        return driver::explorer_page(all);
      },
      nb::arg("compilations"));
}

}  // namespace relay::python
