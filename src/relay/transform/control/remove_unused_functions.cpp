// remove_unused_functions: drops global functions that @main does not reach. A module without @main is unchanged.
//
//   def @f() { 1 }  def @g() { 2 }  def @main() { @f() }        becomes        def @f() { 1 }  def @main() { @f() }
#include <set>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> remove_unused_functions(const Module& module, PassContext&) {
  if (module.functions.count(ir::main_function) == 0) return module;
  std::set<std::string> reached{ir::main_function};
  std::vector<std::string> work{ir::main_function};
  while (!work.empty()) {
    std::map<std::string, FunctionRef>::const_iterator f = module.functions.find(work.back());
    work.pop_back();
    if (f == module.functions.end()) continue;
    visit(f->second, [&](const Expr& e) {
      const GlobalVar* g = as<GlobalVar>(e);
      if (g && reached.insert(g->name).second) work.push_back(g->name);
    });
  }
  Module result = module;
  std::erase_if(result.functions, [&](const auto& f) { return reached.count(f.first) == 0; });
  return result;
}

}  // namespace relay::transform
