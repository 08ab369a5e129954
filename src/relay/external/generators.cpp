#include "relay/external/generators.h"

#include <algorithm>
#include <mutex>

#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"

namespace relay::external {

#define RELAY_COMPILER(name) Compiler name();
#include "relay/external/compilers.def"
#undef RELAY_COMPILER

namespace {
// Never destroyed: programs are compiled until the process ends.
struct Added {
  std::mutex mutex;
  std::map<std::string, Generator> generators;
};
}  // namespace

static Added& added() {
  static Added* const one = new Added;
  return *one;
}

const std::vector<Compiler>& compilers() {
  static const std::vector<Compiler>* const all = new std::vector<Compiler>{
#define RELAY_COMPILER(name) name(),
#include "relay/external/compilers.def"
#undef RELAY_COMPILER
  };
  return *all;
}

void add_generator(const std::string& compiler, Generator generate) {
  std::lock_guard<std::mutex> lock(added().mutex);
  added().generators[compiler] = std::move(generate);
}

bool has_added_generators() {
  std::lock_guard<std::mutex> lock(added().mutex);
  return !added().generators.empty();
}

static Generator find_generator(const std::string& compiler) {
  {
    std::lock_guard<std::mutex> lock(added().mutex);
    auto it = added().generators.find(compiler);
    if (it != added().generators.end()) return it->second;
  }
  for (const Compiler& c : compilers())
    if (c.name == compiler) return c.generate;
  return {};
}

static std::string text_attribute(const ir::Function& f, const char* name) {
  std::string text;
  auto it = f.attrs.find(name);
  if (it != f.attrs.end()) ir::AttrConvert<std::string>::from(it->second, &text);
  return text;
}

Result<ir::Module> partition(const ir::Module& module, const std::string& compiler) {
  std::vector<std::string> names;
  for (const Compiler& c : compilers()) {
    names.emplace_back(c.name);
    if (c.name != compiler) continue;
    transform::PassContext context;
    context.options = c.options;
    context.partitioning = c.partitioning();
    std::vector<std::string> passes = c.passes;
    passes.insert(passes.end(), {"merge_composite", "annotate_target", "merge_compiler_regions", "partition_graph"});
    return transform::run_passes(module, passes, context);
  }
  return Diagnostic{DiagnosticKind::bad_option,
                    format("there is no external compiler '{}'", compiler),
                    {},
                    {},
                    {},
                    format("the external compilers are: {}; in Python, relay.byoc.partition() works with your own",
                           join(names, ", "))};
}

Figures figures(const std::string& library, const std::string& payload, const std::vector<Tensor>& constants) {
  for (const Compiler& c : compilers())
    if (c.name == library && c.figures) return c.figures(payload, constants);
  return {};
}

Result<lower::ExternalCodes> generate(const ir::Module& module) {
  lower::ExternalCodes codes;
  std::vector<ir::FunctionRef> functions;
  ir::NodeSet seen;
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Function* inner = ir::as<ir::Function>(e);
      if (inner && inner->attrs.count(ir::attribute::compiler) && seen.insert(inner)) functions.emplace_back(inner);
    });
  for (const ir::FunctionRef& f : functions) {
    const std::string compiler = text_attribute(*f, ir::attribute::compiler),
                      symbol = text_attribute(*f, ir::attribute::global_symbol);
    if (codes.count(symbol)) continue;
    const Generator generate = find_generator(compiler);
    if (!generate)
      return Diagnostic{
          DiagnosticKind::not_supported,
          format("@{} is for the compiler '{}', and no code generator of this name is known", symbol, compiler),
          f->span,
          {},
          {},
          "inline it with inline_calls (relay.transform.Inline() in Python), or add one with "
          "relay.byoc.register_codegen()"};
    RELAY_ASSIGN(codes[symbol], generate(f));
  }
  return codes;
}

}  // namespace relay::external
