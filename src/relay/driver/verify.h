// What is behind a wrong result: how far a compiled program is from the evaluator in double precision, and which step
// of the compilation is to blame.
#pragma once

#include "relay/driver/compile.h"
#include "relay/driver/load.h"
#include "relay/driver/reduce.h"
#include "relay/driver/tried.h"

namespace relay::driver {

// A program, the inputs of one run, and what the evaluator makes of them in double precision.
struct Case {
  ir::Module module;
  std::vector<runtime::Value> inputs;
  runtime::Value reference;
  double tolerance = 1e-4;
};
Result<Case> make_case(const ir::Module& module, std::vector<runtime::Value> inputs, double tolerance);
// What the program means in a mode: for training, the training forms of batch_norm and dropout, which may need one more
// input, %rng. A case is made of this, and compiled in the same mode.
Result<ir::Module> in_mode(const ir::Module& module, Mode mode);
// The compiled program beside the reference.
Result<Differences> compiled_differences(const Case& c, const CompileOptions& options);

struct Blame {
  enum class Kind : uint8_t { Nothing, Import, Pass, Rule, Compiler } kind = Kind::Nothing;
  std::string name{};  // of the foreign node, the pass or the schedule rule
  Differences differences{};
  ir::Module before{}, after{};      // of a pass
  std::vector<std::string> rules{};  // of a pass, that it applied to the smallest part
  Part smallest{};                   // part that shows the same fault; without functions: nothing is to blame
};
// The first pass after which the evaluator, in each operation's own type, gives another result; if there is none, the
// schedule rule or algorithm without which the compiled program is right; else code generation. A step that refuses the
// program or crashes is to blame like one that is wrong. Then the smallest part of the program that shows the same
// fault. `say` is told of every step. One program is kept, the last that was right.
Result<Blame> bisect(const Case& c, const CompileOptions& options, const std::function<void(const std::string&)>& say);

// The first node of a foreign model one of whose values, as the evaluator computes what was imported in each
// operation's own type, is not the reference's; the nodes before it are right, so its import is to blame. `model` was
// loaded with all_values; a value that `reference` lacks is passed over.
using ValuesByName = std::map<std::string, Tensor>;
Result<Blame> blame_import(const Model& model, const std::vector<runtime::Value>& inputs, const ValuesByName& reference,
                           double tolerance);

// The first of `programs` for which is_right does not hold, of which the first is right and the last is not: by halves.
Result<size_t> first_wrong(size_t programs, const std::function<Result<bool>(size_t)>& is_right);

}  // namespace relay::driver
