#include "relay/driver/cli/pass_log.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "relay/base/output_file.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/cli/terminal.h"
#include "relay/driver/cli/text_difference.h"
#include "relay/ir/rewrite.h"

namespace relay::cli {

namespace {

struct Contents {
  size_t nodes = 0;
  std::map<std::string, int64_t> calls;  // of operators
};

Contents contents_of(const ir::Module& module) {
  Contents out;
  for (const auto& [name, function] : module.functions)
    ir::visit(function, [&](const ir::Expr& e) {
      out.nodes += e->kind != ir::ExprKind::Op;
      const ir::Call* call = ir::as<ir::Call>(e);
      if (const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr) ++out.calls[op->name];
    });
  return out;
}

// "-20 nn.batch_norm, +20 add; 3 x add(x, 0) => x"
std::string what_changed(const Contents& before, const Contents& after, const transform::Applied& applied) {
  std::map<std::string, int64_t> more = after.calls;
  for (const auto& [op, calls] : before.calls) more[op] -= calls;
  std::vector<std::string> parts, rules;
  for (bool gone : {true, false})
    for (const auto& [op, calls] : more)
      if (calls != 0 && (calls < 0) == gone) parts.push_back(format("{:+} {}", calls, op));
  for (const auto& [rule, times] : applied) rules.push_back(format("{} x {}", times, rule));
  std::string out = format("{}", join(parts, ", "));
  if (!rules.empty()) out += format("{}{}", out.empty() ? "" : "; ", join(rules, "; "));
  return out;
}

}  // namespace

Status PassLog::begin(const ir::Module& given) {
  if (!options_.folder.empty()) RELAY_RETURN_IF_ERROR(make_folder(options_.folder));
  before_ = text_(given);
  return write("00-input.relay", before_);
}

void PassLog::add(const transform::PassTrace& trace) {
  const Contents before = contents_of(trace.before), after = contents_of(trace.after);
  std::string text = text_(trace.after);
  Row row{trace.pass.name,
          trace.seconds * 1e3,
          before.nodes,
          after.nodes,
          !ir::equal(trace.before, trace.after),
          what_changed(before, after, trace.applied),
          {}};
  if (row.changed) {
    row.file = format("{:02}-{}.relay", rows_.size() + 1, row.pass);
    if (status_) status_ = write(row.file, text);
    if (options_.diff)
      std::cout << format("--- before {}\n+++ after {}\n", row.pass, row.pass)
                << difference(before_, text, use_colour(STDOUT_FILENO)) << "\n";
  }
  if (options_.each) std::cout << format("// --- after {} ---\n", row.pass) << text << "\n";
  rows_.push_back(std::move(row));
  before_ = std::move(text);
}

std::string PassLog::table() const {
  size_t width = 4;
  double ms = 0;
  for (const Row& row : rows_) width = std::max(width, row.pass.size()), ms += row.ms;
  std::string out = format("{:>3}  {:<{}} {:>10}  {:>15}  change\n", "", "pass", width, "ms", "nodes");
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const std::string nodes =
        row.before == row.after ? format("{}", row.after) : format("{} -> {}", row.before, row.after);
    out += format("{:>3}  {:<{}} {:>10.3f}  {:>15}  {}\n", i + 1, row.pass, width, row.ms, nodes,
                  !row.changed       ? "none"
                  : row.what.empty() ? "structure"
                                     : row.what);
  }
  return out + format("{:>3}  {:<{}} {:>10.3f}\n", "", "all", width, ms);
}

Status PassLog::end() {
  RELAY_RETURN_IF_ERROR(std::move(status_));
  return write("index.txt", table());
}

Status PassLog::write(const std::string& name, const std::string& text) {
  if (options_.folder.empty()) return ok();
  return write_file((std::filesystem::path(options_.folder) / name).string(), text);
}

}  // namespace relay::cli
