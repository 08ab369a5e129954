// The cause of a wrong result: the distance of a compiled program from the evaluator in double precision, and the step
// of the compilation that is to blame.
#pragma once

#include "relay/driver/compile.h"
#include "relay/driver/isolated_step.h"
#include "relay/driver/load.h"
#include "relay/driver/reduce.h"

namespace relay::driver {

// A program, the inputs of one run, and the evaluator's result in double precision.
struct Case {
  ir::Module module;
  std::vector<runtime::Value> inputs;
  runtime::Value reference;
  double tolerance = 1e-4;
  std::vector<std::string> output_names{};  // empty: output0, ..., as for a part of a model
};
Result<Case> make_case(const ir::Module& module, std::vector<runtime::Value> inputs, double tolerance);
// The meaning of the program in a mode: for training, the training forms of batch_norm and dropout, which may need one
// more input, %rng. A case is made of this module, and compiled in the same mode.
Result<ir::Module> in_mode(const ir::Module& module, Mode mode);
// The differences of the compiled program from the reference.
Result<Differences> compiled_differences(const Case& c, const Options& options);

struct Blame {
  enum class Kind : uint8_t { Nothing, Import, Pass, Rule, Compiler } kind = Kind::Nothing;
  std::string name{};  // of the foreign node, the pass or the schedule rule
  Differences differences{};
  ir::Module before{}, after{};      // of a pass
  std::vector<std::string> rules{};  // rules that a pass applied to the smallest part
  Part smallest{};                   // the smallest part that shows the same fault; without functions if nothing is to
                                     // blame
};
// Blames the first pass after which the evaluator, in each operation's own type, computes another result; if there is
// none, the schedule rule or algorithm without which the compiled program is right; else code generation. A step that
// refuses the program or crashes is treated like one that is wrong. Then finds the smallest part of the program that
// shows the same fault. `say` reports every step. Only one program is kept, the last that was right.
Result<Blame> bisect(const Case& c, const Options& options, const std::function<void(const std::string&)>& say);

// Blames the first node of a foreign model with a value that differs from the reference's. Values are computed by the
// evaluator from the imported program, in each operation's own type. The nodes before it are right, so its import is to
// blame. `model` was loaded with all_values; values that `reference` lacks are skipped.
using ValuesByName = std::map<std::string, Tensor>;
Result<Blame> blame_import(const Model& model, const std::vector<runtime::Value>& inputs, const ValuesByName& reference,
                           double tolerance);

// The first of `programs` for which is_right does not hold, by bisection. The first program is right, the last is not.
Result<size_t> first_wrong(size_t programs, const std::function<Result<bool>(size_t)>& is_right);

}  // namespace relay::driver
