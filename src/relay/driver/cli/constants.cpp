#include "relay/driver/cli/constants.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "relay/base/bytes.h"
#include "relay/base/text.h"
#include "relay/driver/cli/terminal.h"

namespace relay::cli {

using runtime::Array;
using runtime::Preparation;
using runtime::Program;
using runtime::Segment;
using runtime::Step;

namespace {
// Facts about a constant, collected on the way through the program.
struct Facts {
  std::string name;              // "constant_3 as 0/32,1,0%32": the name of a packed one in lower.cpp
  std::set<std::string> origin;  // names of its source weights
  bool always = false;           // true if a step that always runs reads it,
  std::set<std::string> when;    // ... or one that runs if an array of this name is set
};

// Splits a weight's name from the layout that it was packed to.
std::pair<std::string, std::string> split_name(const std::string& name) {
  const size_t at = name.find(" as ");
  if (at == std::string::npos) return {name, ""};
  return {name.substr(0, at), name.substr(at + 4)};
}

class Finder {
 public:
  explicit Finder(const Program& program)
      : program_(program), rows_(program.constants.size()), facts_(program.constants.size()) {}

  std::vector<ConstantRow> run() {
    for (const Segment& s : program_.segments) segment(s);
    for (const runtime::Function& f : program_.functions) function(f);
    for (const runtime::ExternalEntry& e : program_.externals)
      for (uint32_t c : e.constants)
        rows_[c].readers.push_back(format("{} of {}", e.symbol, e.library)), facts_[c].always = true;
    // Readers of prepared constants are readers of the weights' other form.
    for (const Preparation& p : program_.preparations) preparation(p);
    for (uint32_t i = 0; i < rows_.size(); ++i) describe(i);
    for (uint32_t i = 0; i < rows_.size(); ++i) rows_[i].reason = reason_of(i);
    return std::move(rows_);
  }

 private:
  void segment(const Segment& s) {
    for (size_t step = 0; step < s.steps.size(); ++step) {
      const Step& at = s.steps[step];
      const std::string prefix = program_.segments.size() > 1 ? s.name + " " : "";
      const std::string kernel = name_of(program_, s, at);
      for (uint32_t i = 0; i < at.args.count; ++i) {
        const Array& a = s.arrays[s.operands[at.args.begin + i]];
        if (a.kind != Array::Kind::Constant) continue;
        rows_[a.index].readers.push_back(format("{}step {} {}", prefix, step, kernel));
        if (at.kind == Step::Kind::KernelWhen)
          facts_[a.index].when.insert(s.arrays[s.operands[at.args.begin + at.args.count - 1]].name);
        else
          facts_[a.index].always = true;
      }
    }
    for (const Array& a : s.arrays)
      if (a.kind == Array::Kind::Constant) facts_[a.index].name = a.name;
  }

  void function(const runtime::Function& f) {
    for (const runtime::Instruction& in : f.code)
      if (in.op == runtime::Op::Constant)
        rows_[in.index].readers.push_back("function " + f.name), facts_[in.index].always = true;
  }

  void preparation(const Preparation& p) {
    const uint32_t made = p.args[p.result];
    for (uint32_t arg : p.args) {
      if (arg == made) continue;
      rows_[arg].readers.push_back(
          format("when loaded: {} computes constant {}", program_.kernels[p.kernel].name, made));
      facts_[made].origin.insert(origin(arg));
    }
  }

  std::string origin(uint32_t constant) const {
    const std::string name = split_name(facts_[constant].name).first;
    return name.empty() ? format("only to compute others, {}", constant) : name;
  }

  void describe(uint32_t i) {
    ConstantRow& row = rows_[i];
    const Tensor& t = program_.constants[i];
    const auto [name, layout] = split_name(facts_[i].name);
    row.index = i, row.name = name, row.bytes = static_cast<int64_t>(t.bytes());
    row.type = format("{}[{}]", t.dtype().str(), join(t.shape(), ", "));
    row.stored = !runtime::is_prepared(t);
    row.form = !row.stored                   ? "computed when loaded"
               : !layout.empty()             ? "packed " + layout
               : name.find('.') != name.npos ? "computed when compiled"
               : facts_[i].name.empty()      ? "source of constants that are computed when loaded"
                                             : "as in the model";
    if (facts_[i].origin.empty()) facts_[i].origin.insert(origin(i));
  }

  std::string reason_of(uint32_t i) const {
    if (is_given_back(i)) return "others are computed from it, then its memory is freed";
    const bool other = std::any_of(facts_.begin(), facts_.end(), [&](const Facts& f) {
      return &f != &facts_[i] && std::any_of(f.origin.begin(), f.origin.end(),
                                             [&](const std::string& o) { return facts_[i].origin.count(o) > 0; });
    });
    if (!other) return rows_[i].stored ? "" : "larger than its source";
    if (!rows_[i].stored) return "a form with fewer multiplications, larger than its source";
    if (facts_[i].when == std::set<std::string>{"extremes"} && !facts_[i].always)
      return "direct form for data with unusually large values; others are computed from it";
    return rows_[i].form == "as in the model" ? "kernels read it unchanged" : "kernels read it in another order";
  }

  // True for an intermediate of preparations: no run reads it.
  bool is_given_back(uint32_t i) const { return !rows_[i].stored && facts_[i].when.empty() && !facts_[i].always; }

  const Program& program_;
  std::vector<ConstantRow> rows_;
  std::vector<Facts> facts_;
};
}  // namespace

std::vector<ConstantRow> constants_of(const Program& program) { return Finder(program).run(); }

static void print_each(const std::vector<ConstantRow>& rows) {
  std::cout << format("{:>8} {:>12}  constant, form, readers\n", "", "bytes");
  for (const ConstantRow& row : rows) {
    print(format("{:>8} {:>12}  {}{}{}: {}", row.index, row.bytes, row.name, row.name.empty() ? "" : ": ", row.type,
                 row.form));
    const size_t shown = std::min<size_t>(row.readers.size(), 3);
    std::string readers;
    for (size_t i = 0; i < shown; ++i) readers += (i ? "; " : "") + row.readers[i];
    if (row.readers.size() > shown) readers += format(" and {} more", row.readers.size() - shown);
    print(format("{:>8} {:>12}    read by {}", "", "", readers.empty() ? "nothing" : readers));
    if (!row.reason.empty()) std::cout << format("{:>8} {:>12}    why: {}\n", "", "", row.reason);
  }
}

void print_constants(const std::vector<ConstantRow>& rows, int64_t model_bytes, bool each) {
  struct Sum {
    int64_t count = 0, stored = 0, made = 0;
  };
  std::map<std::string, Sum> forms;
  Sum all;
  for (const ConstantRow& row : rows) {
    const std::string form = row.form.substr(0, row.form.find(' ')) == "packed" ? "packed for a kernel" : row.form;
    const std::string key = row.reason.empty() ? form : format("{} ({})", form, row.reason);
    for (Sum* sum : {&forms[key], &all}) ++sum->count, (row.stored ? sum->stored : sum->made) += row.bytes;
  }
  std::cout << format("constants {} in the file", bytes_text(all.stored));
  if (model_bytes > 0)
    std::cout << format(", {:.2f} times the model's {}",
                        static_cast<double>(all.stored) / static_cast<double>(model_bytes), bytes_text(model_bytes));
  if (all.made > 0) std::cout << format("; {} more are computed when it is loaded", bytes_text(all.made));
  std::cout << "\n";
  for (const auto& [form, sum] : forms)
    std::cout << format("{:>12} in the file {:>12} computed  {:>5}  {}\n", bytes_text(sum.stored), bytes_text(sum.made),
                        sum.count, form);
  if (each) print_each(rows);
}

nlohmann::ordered_json as_json(const std::vector<ConstantRow>& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const ConstantRow& row : rows)
    out.push_back({{"index", row.index},
                   {"name", row.name},
                   {"type", row.type},
                   {"form", row.form},
                   {"bytes", row.bytes},
                   {"stored", row.stored},
                   {"readers", row.readers},
                   {"why", row.reason}});
  return out;
}

}  // namespace relay::cli
