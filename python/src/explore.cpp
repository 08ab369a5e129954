// Compilations as JSON and as pages.
#include "core.h"
#include "interruptible.h"
#include "relay/base/interrupt.h"
#include "relay/driver/explorer.h"

namespace relay::python {

// The object without its texts, and the texts: CompilationJson.
static std::pair<std::string, std::string> compilation_json_of(const PyModule& m, const std::string& name,
                                                               driver::Options options, bool texts) {
  options.run.make_executable = false, options.run.output_names = m.output_names;
  std::shared_ptr<driver::CompilationJson> made = std::make_shared<driver::CompilationJson>();
  run_interruptibly([made, module = separate(m), options, name, texts]() mutable {
    driver::Recording recording;
    options.passes.trace = [&](const transform::PassTrace& trace) {
      check_interrupt();
      recording.see(trace);
    };
    const driver::Compiled compiled = value_or_throw(driver::compile(module, options));
    *made = value_or_throw(
        driver::compilation_json({.model = name, .recording = recording, .compiled = compiled, .texts = texts}));
  });
  return {made->graph, made->texts};
}

void add_explore(nb::module_& m) {
  m.def("compilation_json", compilation_json_of, nb::arg("module"), nb::arg("name"), nb::arg("options"),
        nb::arg("texts"));
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
