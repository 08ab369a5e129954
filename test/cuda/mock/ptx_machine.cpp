// The text of PTX as steps, and blocks of threads that run them.
#include "ptx_machine.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <regex>
#include <sstream>
#include <unordered_map>

#include "ptx_thread.h"

namespace relay::mock {

namespace {

std::string trimmed(std::string s) {
  const size_t begin = s.find_first_not_of(" \t\r\n"), end = s.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}
// At commas that are not in brackets.
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  for (std::string& s : out) s = trimmed(s);
  if (out.size() == 1 && out[0].empty()) out.clear();
  return out;
}
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::stringstream stream(text);
  for (std::string s; std::getline(stream, s, at);) out.push_back(trimmed(s));
  return out;
}
uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Reads one entry, line by line.
class EntryReader {
 public:
  using Globals = std::map<std::string, std::pair<uint64_t, size_t>>;
  EntryReader(Entry& entry, const Globals& globals) : entry_(entry), globals_(globals) {}

  void parameter(const std::string& text) {  // ".param .u64 .ptr .global .align 1 NAME"
    const std::vector<std::string> words = split(text, ' ');
    if (words.size() < 3 || (words[1] != ".u64" && words[1] != ".b64")) throw PtxError("unknown parameter: " + text);
    symbols_[words.back()] = entry_.parameter_bytes;
    entry_.parameter_bytes += 8, ++entry_.parameters;
  }
  void array(const std::string& text) {  // ".local .align 64 .b8 NAME[64]", ".shared .align 64 .f32 NAME"
    static const std::regex form(R"(\.(local|shared) \.align (\d+) \.[a-z](\d+)\s+([\w$.]+)(?:\[(\d+)\])?)");
    std::smatch m;
    if (!std::regex_match(text, m, form)) throw PtxError("unknown declaration: " + text);
    size_t& used = m[1] == "local" ? entry_.local_bytes : entry_.shared_bytes;
    used = round_up(used, std::stoul(m[2]));
    symbols_[m[4]] = (m[1] == "local" ? local_base : shared_base) + used;
    used += std::stoul(m[3]) / 8 * (m[5].matched ? std::stoul(m[5]) : 1);
  }
  void instruction(std::string text, int line) {
    static const std::regex label(R"(^([\w$.]+):(.*)$)");
    std::smatch m;
    if (std::regex_match(text, m, label)) {
      labels_[m[1]] = entry_.steps.size();
      text = trimmed(m[2]);
      if (text.empty()) return;
    }
    entry_.lines.push_back(line);
    if (text[0] != '@') return entry_.steps.push_back(step(text));
    const bool negated = text[1] == '!';
    const size_t space = text.find_first_of(" \t");
    const Operand when = operand(text.substr(negated ? 2 : 1, space - (negated ? 2 : 1)));
    Step inner = step(trimmed(text.substr(space)));
    entry_.steps.push_back([when, negated, inner = std::move(inner)](Thread& t) {
      if (((when.of(t) & 1) != 0) != negated) inner(t);
    });
  }
  void end() {
    for (auto& [at, name] : jumps_) {
      const auto found = labels_.find(name);
      if (found == labels_.end()) throw PtxError("no label " + name);
      *at = found->second;
    }
    entry_.registers = registers_.size();
  }

 private:
  Operand operand(const std::string& text) {
    Operand out;
    if (text == "_") {
      out.reg = register_of("_");
    } else if (text[0] == '%') {
      out.reg = register_of(text);
    } else if (text.rfind("0f", 0) == 0 || text.rfind("0d", 0) == 0) {
      out.constant = std::stoull(text.substr(2), nullptr, 16);
    } else if (text == "true" || text == "false") {
      out.constant = text == "true";
    } else if (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-') {
      const bool negative = text[0] == '-';
      const uint64_t size = std::stoull(text.substr(negative ? 1 : 0), nullptr, 0);
      out.constant = negative ? uint64_t{0} - size : size;
    } else if (const auto found = symbols_.find(text); found != symbols_.end()) {
      out.constant = found->second;
    } else if (const auto global = globals_.find(text); global != globals_.end()) {
      out.constant = global->second.first;
    } else {
      throw PtxError("unknown operand " + text);
    }
    return out;
  }
  int register_of(const std::string& name) {
    return registers_.emplace(name, static_cast<int>(registers_.size())).first->second;
  }

  Parsed parsed(const std::string& text) {
    Parsed p;
    const size_t space = text.find_first_of(" \t");
    std::vector<std::string> words = split(text.substr(0, space), '.');
    p.op = words[0];
    p.modifiers.assign(words.begin() + 1, words.end());
    if (space == std::string::npos) return p;
    for (std::string one : parts(trimmed(text.substr(space)))) {
      uint64_t offset = 0;
      std::vector<Operand>& list = p.operands.emplace_back();
      if (one[0] == '[') {
        one = trimmed(one.substr(1, one.size() - 2));
        if (const size_t plus = one.find('+'); plus != std::string::npos) {
          offset = operand(trimmed(one.substr(plus + 1))).constant;
          one = trimmed(one.substr(0, plus));
        }
        list.push_back(operand(one));
      } else if (one[0] == '{') {
        for (const std::string& element : parts(one.substr(1, one.size() - 2))) list.push_back(operand(element));
      } else {
        list.push_back(operand(one));
      }
      p.offsets.push_back(offset);
    }
    return p;
  }

  static size_t bytes_of(const std::string& type) {
    return std::stoul(type.substr(type.find_first_of("0123456789"))) / 8;
  }

  Step step(const std::string& text) {
    const std::string op = text.substr(0, text.find_first_of(" \t."));
    if (op == "bra") {
      std::shared_ptr<size_t> to = std::make_shared<size_t>(0);
      jumps_.emplace_back(to, trimmed(text.substr(text.find_last_of(" \t"))));
      return [to](Thread& t) { t.next = *to; };
    }
    if (op == "ret" || op == "exit") return [](Thread& t) { t.ended = true; };
    if (op == "bar" || op == "barrier") {
      entry_.has_barriers = true;
      return [](Thread& t) { t.waits = true; };
    }
    const Parsed p = parsed(text);
    if (op == "cp") return async_copy(p, text);
    if (op == "mma" || op == "ldmatrix") {
      entry_.has_barriers = true;
      const WarpStep together = step_of_warp(p);
      if (!together) throw PtxError("unknown instruction: " + text);
      return [together](Thread& t) { t.waits = true, t.together = &together; };
    }
    Step made = op == "ld"     ? load(p)
                : op == "st"   ? store(p)
                : op == "mov"  ? move(p)
                : op == "cvta" ? copy(p)
                               : arithmetic(p);
    if (!made) throw PtxError("unknown instruction: " + text);
    return made;
  }

  static Step async_copy(const Parsed& p, const std::string& text) {
    if (p.has("commit_group")) return [](Thread& t) { t.groups.emplace_back(); };
    if (p.has("wait_group")) return [most = p.operands[0][0].constant](Thread& t) { t.wait(most); };
    if (!p.has("async") || !p.has("shared") || !p.has("global") || p.operands.size() != 3)
      throw PtxError("unknown instruction: " + text);
    const Operand to = p.operands[0][0], from = p.operands[1][0];
    const uint64_t to_offset = p.offsets[0], from_offset = p.offsets[1];
    const size_t bytes = p.operands[2][0].constant;
    if (p.has("cg") && bytes != 16) throw PtxError("cp.async.cg copies 16 bytes");
    return [=](Thread& t) { t.start({to.of(t) + to_offset, from.of(t) + from_offset, bytes}); };
  }

  Step load(const Parsed& p) {
    const size_t bytes = bytes_of(p.type());
    const Operand from = p.operands[1][0];
    const uint64_t offset = p.offsets[1];
    const bool is_signed = p.type()[0] == 's';
    std::vector<size_t> to;
    for (const Operand& o : p.operands[0]) to.push_back(static_cast<size_t>(o.reg));
    if (p.has("param"))
      return [=](Thread& t) {
        uint64_t value = 0;
        if (from.constant + offset + bytes > t.block->arguments->size()) throw PtxError("a parameter is not there");
        std::memcpy(&value, t.block->arguments->data() + from.constant + offset, bytes);
        t.registers[to[0]] = value;
      };
    return [=](Thread& t) {
      const uint64_t address = from.of(t) + offset;
      if (to.size() > 1 && address % (bytes * to.size()) != 0) throw PtxError("a vector is not aligned");
      for (size_t i = 0; i < to.size(); ++i) {
        uint64_t value = t.load(address + i * bytes, bytes);
        if (is_signed && bytes < 8 && (value >> (8 * bytes - 1) & 1)) value |= ~uint64_t{0} << (8 * bytes);
        t.registers[to[i]] = value;
      }
    };
  }
  Step store(const Parsed& p) {
    const size_t bytes = bytes_of(p.type());
    const Operand to = p.operands[0][0];
    const uint64_t offset = p.offsets[0];
    const std::vector<Operand> values = p.operands[1];
    return [=](Thread& t) {
      const uint64_t address = to.of(t) + offset;
      if (values.size() > 1 && address % (bytes * values.size()) != 0) throw PtxError("a vector is not aligned");
      for (size_t i = 0; i < values.size(); ++i) t.store(address + i * bytes, bytes, values[i].of(t));
    };
  }
  static Step copy(const Parsed& p) {
    const size_t to = static_cast<size_t>(p.operands[0][0].reg);
    const Operand from = p.operands[1][0];
    return [=](Thread& t) { t.registers[to] = from.of(t); };
  }
  // Between registers; a vector of small ones is one large one.
  Step move(const Parsed& p) {
    const std::vector<Operand>&to = p.operands[0], &from = p.operands[1];
    const unsigned bits = p.type() == "pred" ? 1 : static_cast<unsigned>(bytes_of(p.type()) * 8);
    if (to.size() == 1 && from.size() == 1) return copy(p);
    const unsigned part = bits / static_cast<unsigned>(std::max(to.size(), from.size()));
    const uint64_t mask = (uint64_t{1} << part) - 1;
    return [=](Thread& t) {
      uint64_t whole = from[0].of(t);
      if (from.size() > 1) {
        whole = 0;
        for (size_t i = 0; i < from.size(); ++i) whole |= (from[i].of(t) & mask) << (part * i);
      }
      for (size_t i = 0; i < to.size(); ++i)
        t.registers[static_cast<size_t>(to[i].reg)] = to.size() == 1 ? whole : whole >> (part * i) & mask;
    };
  }

  Entry& entry_;
  const Globals& globals_;
  std::map<std::string, uint64_t> symbols_;  // parameters and arrays
  std::unordered_map<std::string, int> registers_{{"%tid.x", 0}, {"%ntid.x", 1}, {"%ctaid.x", 2}, {"%nctaid.x", 3}};
  std::map<std::string, size_t> labels_;
  std::vector<std::pair<std::shared_ptr<size_t>, std::string>> jumps_;
};

// Lines without comments.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out = split(text, '\n');
  for (std::string& line : out) line = trimmed(line.substr(0, line.find("//")));
  return out;
}

// Runs one thread up to a barrier or to its end.
void run_thread(const Entry& entry, Thread& t) {
  t.waits = false;
  while (!t.ended && !t.waits) {
    const size_t at = t.next++;
    if (at >= entry.steps.size()) throw PtxError("a thread runs past the end");
    try {
      entry.steps[at](t);
    } catch (const PtxError& e) {
      throw PtxError(entry.name + ", line " + std::to_string(entry.lines[at]) + ", block " +
                     std::to_string(t.block->number) + ", thread " + std::to_string(t.lane) + ": " + e.what());
    }
  }
}

// Runs a warp until its threads are at a barrier or at their ends.
void run_warp(const Entry& entry, std::span<Thread> warp) {
  for (;;) {
    bool together = false;
    for (Thread& t : warp) {
      if (!t.ended) run_thread(entry, t);
      together = together || t.together;
    }
    if (!together) return;
    for (const Thread& t : warp)
      if (warp.size() != 32 || t.together != warp[0].together || t.next != warp[0].next)
        throw PtxError(entry.name + ": threads of a warp part at an instruction that all of them run");
    const WarpStep& step = *warp[0].together;
    step(warp);
    for (Thread& t : warp) t.together = nullptr;
  }
}

void run_block(const Entry& entry, Block& block) {
  const bool together = entry.shared_bytes > 0 || entry.has_barriers;
  std::vector<Thread> threads(together ? block.grid.threads : 1);
  auto start = [&](Thread& t, unsigned lane) {
    t.block = &block, t.lane = lane, t.next = 0, t.ended = t.waits = false, t.together = nullptr;
    t.registers.assign(entry.registers, 0xa5a5a5a5a5a5a5a5);  // as unset as they are on a GPU
    t.registers[0] = lane, t.registers[1] = block.grid.threads, t.registers[2] = block.number,
    t.registers[3] = block.grid.blocks;
    t.local.assign(entry.local_bytes, 0xa5);
    t.groups.assign(1, {});
  };
  if (!together) {
    for (unsigned lane = 0; lane < block.grid.threads; ++lane) {
      start(threads[0], lane);
      run_thread(entry, threads[0]);
    }
    return;
  }
  for (unsigned lane = 0; lane < block.grid.threads; ++lane) start(threads[lane], lane);
  for (bool all_ended = false; !all_ended;) {
    for (size_t first = 0; first < threads.size(); first += 32)
      run_warp(entry, std::span(threads).subspan(first, std::min<size_t>(32, threads.size() - first)));
    all_ended = true;
    for (const Thread& t : threads) {
      all_ended = all_ended && t.ended;
      for (const std::vector<Copy>& group : t.groups)
        if (t.ended && !group.empty()) throw PtxError(entry.name + ": a thread ends before its copies are waited for");
      if (t.ended != threads[0].ended || (!t.ended && t.next != threads[0].next))
        throw PtxError(entry.name + ": threads 0 and " + std::to_string(t.lane) + " wait at different barriers");
    }
    std::fill(block.touched.begin(), block.touched.end(), SharedByte{});
  }
}

}  // namespace

PtxModule::PtxModule(const std::string& text) {
  static const std::regex global(R"(\.(?:extern |visible |weak )?(?:global|const) \.align (\d+) \.b(\d+) ([\w$.]+))"
                                 R"((?:\[(\d+)\])?(?: = \{(.*)\}| = (.*))?;)");
  static const std::regex entry(R"(\.(?:visible|weak) \.entry ([\w$]+)\(?(.*)$)");
  const std::vector<std::string> lines = lines_of(text);
  enum class Where { Outside, Parameters, Head, Body } where = Where::Outside;
  Entry* current = nullptr;
  std::optional<EntryReader> reader;
  auto handle = [&](const std::string& line, int number) {
    std::smatch m;
    if (where == Where::Outside) {
      if (std::regex_match(line, m, entry)) {
        std::unique_ptr<Entry>& made = entries_[m[1]];
        made = std::make_unique<Entry>();
        made->name = m[1];
        current = made.get();
        reader.emplace(*current, globals_);
        where = m[2] == ")" ? Where::Head : Where::Parameters;
      } else if (std::regex_match(line, m, global)) {
        const size_t element = std::stoul(m[2]) / 8, count = m[4].matched ? std::stoul(m[4]) : 1;
        constants_.resize(round_up(constants_.size(), std::stoul(m[1])));
        const size_t at = constants_.size();
        globals_[m[3]] = {constant_base + at, element * count};
        constants_.resize(at + element * count);
        const std::string values = m[5].matched ? m[5].str() : m[6].str();
        size_t i = 0;
        for (const std::string& value : parts(values)) {
          const uint64_t v = value.rfind("0f", 0) == 0 || value.rfind("0d", 0) == 0
                                 ? std::stoull(value.substr(2), nullptr, 16)
                             : value[0] == '-' ? uint64_t{0} - std::stoull(value.substr(1), nullptr, 0)
                                               : std::stoull(value, nullptr, 0);
          std::memcpy(constants_.data() + at + element * i++, &v, element);
        }
      } else if (line.rfind(".version", 0) != 0 && line.rfind(".target", 0) != 0 &&
                 line.rfind(".address_size", 0) != 0) {
        throw PtxError("unknown declaration: " + line);
      }
    } else if (where == Where::Parameters) {
      if (line[0] == ')')
        where = Where::Head;
      else
        reader->parameter(line.back() == ',' ? line.substr(0, line.size() - 1) : line);
    } else if (where == Where::Head) {
      if (line == "{")
        where = Where::Body;
      else if (line.rfind(".maxntid", 0) == 0)
        current->most_threads = static_cast<unsigned>(std::stoul(line.substr(9)));
      else if (line.rfind(".reqntid", 0) == 0)
        current->most_threads = static_cast<unsigned>(std::stoul(line.substr(9))), current->takes_most = true;
    } else if (line == "}") {
      reader->end();
      where = Where::Outside;
    } else if (line.rfind(".reg", 0) == 0 || line.rfind(".pragma", 0) == 0) {  // nothing to do
    } else if (line[0] == '.') {
      reader->array(line.substr(0, line.size() - 1));
    } else {
      reader->instruction(line.back() == ';' ? line.substr(0, line.size() - 1) : line, number);
    }
  };
  std::string waiting;  // an instruction may take several lines
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.empty()) continue;
    waiting += (waiting.empty() ? "" : " ") + line;
    if (where == Where::Body && line.back() != ';' && line.back() != ':' && line != "}" && line != "{") continue;
    if (where == Where::Outside && waiting.rfind(".global", 0) == 0 && line.back() != ';') continue;
    try {
      std::string now;
      std::swap(now, waiting);
      handle(now, static_cast<int>(i + 1));
    } catch (const std::logic_error& e) {  // of numbers
      throw PtxError("line " + std::to_string(i + 1) + ": " + e.what());
    } catch (const PtxError& e) {
      throw PtxError("line " + std::to_string(i + 1) + ": " + e.what());
    }
  }
}

const Entry* PtxModule::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.get();
}

void PtxModule::run(const Entry& entry, const std::vector<uint8_t>& arguments, Grid grid,
                    const Translate& translate) const {
  if (grid.threads > entry.most_threads) throw PtxError(entry.name + ": the block has more threads than it allows");
  if (entry.takes_most && grid.threads != entry.most_threads)
    throw PtxError(entry.name + ": the block has " + std::to_string(grid.threads) + " threads, and needs " +
                   std::to_string(entry.most_threads));
  Block block;
  block.arguments = &arguments, block.constants = &constants_, block.translate = &translate, block.grid = grid;
  for (block.number = 0; block.number < grid.blocks; ++block.number) {
    block.shared.assign(entry.shared_bytes, 0xa5);
    block.touched.assign(entry.shared_bytes, {});
    block.under_way.assign(entry.shared_bytes, 0);
    run_block(entry, block);
  }
}

}  // namespace relay::mock
