// Writes an artifact whose checksums are right and whose description is not, for test/hostile/artifacts.py:
//
//   relay_hostile_artifact KIND SEED IN.rart OUT.rart
//   relay_hostile_artifact                              lists the kinds, one a line
//
// A kind changes the program (or the bytes) of a sound artifact. Exit status 3: it has nothing that the kind could
// change.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "relay/runtime/artifacts/artifact.h"

using namespace relay;
using namespace relay::runtime;

namespace {

std::mt19937_64 seeded;

struct NothingToChange {};

template <class T>
T& any(std::vector<T>& items) {
  if (items.empty()) throw NothingToChange{};
  return items[seeded() % items.size()];
}

uint32_t far() {
  static const uint32_t values[] = {0xffffffffu, 0x7fffffffu, 0x00ffffffu, 1u << 16, 9999};
  return values[seeded() % std::size(values)];
}

int64_t extreme() {
  static const int64_t values[] = {INT64_MAX, INT64_MIN, -1, int64_t{1} << 62, int64_t{1} << 47, -(int64_t{1} << 40)};
  return values[seeded() % std::size(values)];
}

Segment& segment(Program& p) { return any(p.segments); }
Function& function(Program& p) { return any(p.functions); }
Array& array(Program& p, Array::Kind kind) {
  for (int turn = 0; turn < 1000; ++turn)
    if (Array& a = any(segment(p).arrays); a.kind == kind) return a;
  throw NothingToChange{};
}
Instruction& instruction(Program& p, std::initializer_list<Op> ops) {
  for (int turn = 0; turn < 10000; ++turn)
    if (Instruction& in = any(function(p).code); std::find(ops.begin(), ops.end(), in.op) != ops.end()) return in;
  throw NothingToChange{};
}
SizeExpr deep(size_t words) {
  SizeExpr e;
  e.words.assign(words, SizeWord{SizeOp::Const, 1});
  return e;
}

using Change = std::function<void(Program&)>;

using Changes = std::map<std::string, Change>;

Changes changes_of_segments() {
  return {
      {"input-index", [](Program& p) { any(segment(p).inputs) = far(); }},
      {"output-index", [](Program& p) { any(segment(p).outputs) = far(); }},
      {"output-names", [](Program& p) { segment(p).output_names.resize(100, "x"); }},
      {"operand-index", [](Program& p) { any(segment(p).operands) = far(); }},
      {"step-kernel", [](Program& p) { any(segment(p).steps).kernel = far(); }},
      {"step-operands", [](Program& p) { any(segment(p).steps).args = {far(), far()}; }},
      {"step-sizes", [](Program& p) { any(segment(p).steps).sizes = {far(), 7}; }},
      {"step-tasks", [](Program& p) { any(segment(p).steps).tasks = far(); }},
      {"step-tasks-many",
       [](Program& p) {
         Segment& s = segment(p);
         Step& step = any(s.steps);
         if (step.kind != Step::Kind::Kernel) throw NothingToChange{};
         static const int64_t counts[] = {int64_t{1} << 46, int64_t{1} << 40, INT64_MAX, 100'000'000'000};
         s.sizes.at(step.tasks) = SizeExpr::constant(counts[seeded() % std::size(counts)]);
       }},
      {"array-constant", [](Program& p) { array(p, Array::Kind::Constant).index = far(); }},
      {"array-input", [](Program& p) { array(p, Array::Kind::Input).index = far(); }},
      {"array-rank", [](Program& p) { any(segment(p).arrays).shape.resize(1000, SizeExpr::constant(1)); }},
      {"array-negative", [](Program& p) { array(p, Array::Kind::Output).shape[0] = SizeExpr::constant(-1); }},
      {"array-overflow",
       [](Program& p) { array(p, Array::Kind::Output).shape.assign(4, SizeExpr::constant(1LL << 40)); }},
      {"array-bytes", [](Program& p) { array(p, Array::Kind::Output).bytes = SizeExpr::constant(extreme()); }},
      {"array-bytes-small", [](Program& p) { array(p, Array::Kind::Output).bytes = SizeExpr::constant(1); }},
      {"array-kind", [](Program& p) { array(p, Array::Kind::Output).kind = Array::Kind::Temporary; }},
      {"array-part", [](Program& p) { any(segment(p).arrays).kind = Array::Kind::View; }},
      {"array-name", [](Program& p) { any(segment(p).arrays).name.assign(1 << 20, 'x'); }},
      {"constant-bytes", [](Program& p) { array(p, Array::Kind::Constant).bytes = SizeExpr::constant(extreme()); }},
      {"binding-dimension", [](Program& p) { any(segment(p).bindings).dim = far(); }},
      {"binding-input", [](Program& p) { any(segment(p).bindings).input = far(); }},
      {"binding-variable", [](Program& p) { any(segment(p).bindings).variable = far(); }},
      {"binding-factor", [](Program& p) { any(segment(p).bindings).factor = seeded() % 2 ? 0 : -1; }},
      {"binding-offset", [](Program& p) { any(segment(p).bindings).offset = INT64_MIN; }},
      {"size-variable", [](Program& p) { any(segment(p).sizes).words = {{SizeOp::Var, extreme()}}; }},
      {"size-empty", [](Program& p) { any(segment(p).sizes).words.clear(); }},
      {"size-stack", [](Program& p) { any(segment(p).sizes).words = {{SizeOp::Add, 0}}; }},
      {"size-deep", [](Program& p) { any(segment(p).sizes) = deep(100000); }},
      {"check-fails", [](Program& p) { segment(p).checks.push_back({SizeExpr::constant(0), "never\x1b[2J holds"}); }},
      {"kernel-name", [](Program& p) { any(p.kernels).name = "\x1b[31mno_such_kernel"; }},
      {"kernel-scratch", [](Program& p) { any(p.kernels).scratch_bytes = extreme(); }},
      {"kernel-empty", [](Program& p) { any(p.kernels).name.clear(); }},
      {"no-segments", [](Program& p) { p.segments.clear(); }},
      {"segment-twice", [](Program& p) { p.segments.push_back(p.segments.at(0)); }},
  };
}

Changes changes_of_functions() {
  return {
      {"function-parameters", [](Program& p) { function(p).parameters = far(); }},
      {"function-registers", [](Program& p) { function(p).registers = seeded() % 2 ? far() : 0; }},
      {"function-empty", [](Program& p) { function(p).code.clear(); }},
      {"function-runs-off", [](Program& p) { function(p).code.back().op = Op::Move; }},
      {"call-index", [](Program& p) { instruction(p, {Op::Call, Op::TailCall, Op::RunSegment}).index = far(); }},
      {"call-operands", [](Program& p) { instruction(p, {Op::Call, Op::TailCall, Op::RunSegment}).args = {far(), 2}; }},
      {"jump-target", [](Program& p) { instruction(p, {Op::Jump, Op::BranchIfFalse}).index = far(); }},
      {"register-index", [](Program& p) { any(function(p).operands).reg = far() >> 1; }},
      {"register-empty",
       [](Program& p) {
         Function& f = function(p);
         f.registers += 1;
         for (Operand& o : f.operands) o.reg = f.registers - 1;
         if (f.operands.empty()) throw NothingToChange{};
       }},
      {"result-register", [](Program& p) { instruction(p, {Op::Call, Op::Move, Op::Constant}).to = far(); }},
      {"switch-list", [](Program& p) { instruction(p, {Op::SwitchTag}).list = {0, far()}; }},
      {"switch-target",
       [](Program& p) {
         for (Function& f : p.functions)
           for (uint32_t& target : f.lists) target = far();
         instruction(p, {Op::SwitchTag});
       }},
      {"constructor-tag", [](Program& p) { instruction(p, {Op::MakeData}).tag = 0xffff; }},
      {"constructor-arity", [](Program& p) { any(any(p.types).constructors).arity = far(); }},
      {"field-index", [](Program& p) { instruction(p, {Op::GetField}).index = far(); }},
      {"constant-index", [](Program& p) { instruction(p, {Op::Constant}).index = far(); }},
      {"data-cyclic",
       [](Program& p) {  // a function that calls itself before all else
         Function& f = p.functions.at(0);
         std::vector<Operand> own;
         for (uint32_t i = 0; i < f.parameters; ++i) own.push_back({i, 0});
         f.operands.insert(f.operands.end(), own.begin(), own.end());
         uint32_t begin = static_cast<uint32_t>(f.operands.size() - own.size());
         f.registers += 1;
         f.code = {{.op = Op::Call, .index = 0, .to = f.registers - 1, .args = {begin, f.parameters}},
                   {.op = Op::Return, .args = {static_cast<uint32_t>(f.operands.size()), 1}}};
         f.operands.push_back({f.registers - 1, 1});
       }},
      {"signature-inputs",
       [](Program& p) {
         if (p.functions.empty()) throw NothingToChange{};
         p.signature.inputs.clear();
       }},
      {"signature-type",
       [](Program& p) {
         Port& q = any(p.signature.inputs);
         q.kind = ObjectKind::Data, q.data_type = far();
       }},
      {"signature-shape", [](Program& p) { any(p.signature.inputs).shape.resize(5000, SizeExpr::constant(1)); }},
      {"field-of-tensor",
       [](Program& p) {  // reads a field of what is a tensor
         Function& f = p.functions.at(0);
         if (f.parameters == 0) throw NothingToChange{};
         f.registers += 1;
         uint32_t at = static_cast<uint32_t>(f.operands.size());
         f.operands.push_back({0, 0}), f.operands.push_back({f.registers - 1, 1});
         f.code = {{.op = Op::GetField, .index = far(), .to = f.registers - 1, .args = {at, 1}},
                   {.op = Op::Return, .args = {at + 1, 1}}};
       }},
      {"branch-on-value",
       [](Program& p) {  // branches on the first parameter, whatever it is
         Function& f = p.functions.at(0);
         if (f.parameters == 0) throw NothingToChange{};
         uint32_t at = static_cast<uint32_t>(f.operands.size());
         f.operands.push_back({0, 0});
         f.code.insert(f.code.begin(), {.op = Op::BranchIfFalse, .index = 1, .args = {at, 1}});
         for (Instruction& in : f.code)
           if (&in != &f.code[0] && (in.op == Op::Jump || in.op == Op::BranchIfFalse)) ++in.index;
         for (uint32_t& target : f.lists) ++target;
       }},
      {"escapes",
       [](Program& p) {
         for (Array& a : p.segments.at(0).arrays) a.name = "a\x1b[2J\r\xff";
       }},
  };
}

const Changes& changes() {
  static const Changes all = [] {
    Changes both = changes_of_segments();
    both.merge(changes_of_functions());
    return both;
  }();
  return all;
}

std::string bytes_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The bytes of the description, not the program: what no program that is written gives.
void change_bytes(const std::string& kind, std::string& bytes) {
  uint64_t offset = 0, size = 0;
  std::memcpy(&offset, bytes.data() + 24, 8), std::memcpy(&size, bytes.data() + 32, 8);
  if (offset + size > bytes.size()) offset = 64, size = bytes.size() - 64;
  for (uint64_t i = 0, n = 1 + seeded() % 4; i < n; ++i) {
    size_t at = offset + seeded() % (size - 8);
    if (kind == "bytes-flipped") bytes[at] ^= static_cast<char>(1 << seeded() % 8);
    uint32_t count = far();
    if (kind == "bytes-count") std::memcpy(bytes.data() + at, &count, 4);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    for (const auto& [name, change] : changes()) std::printf("%s\n", name.c_str());
    return argc == 1 ? 0 : 2;
  }
  std::string kind = argv[1];
  seeded.seed(std::stoull(argv[2]));
  if (starts_with(kind, "bytes-")) {
    std::string bytes = bytes_of_file(argv[3]);
    change_bytes(kind, bytes);
    reseal_artifact(bytes);
    std::ofstream(argv[4], std::ios::binary) << bytes;
    return 0;
  }
  Result<Artifact> artifact = open_artifact(argv[3]);
  if (!artifact || !changes().count(kind)) return 2;
  auto program = std::make_shared<Program>(*artifact->program);
  try {
    changes().at(kind)(*program);
  } catch (const NothingToChange&) {
    return 3;
  } catch (const std::out_of_range&) {  // of at()
    return 3;
  }
  artifact->program = program;
  return save_artifact(*artifact, argv[4]) ? 0 : 2;
}
