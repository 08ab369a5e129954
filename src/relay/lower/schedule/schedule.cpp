#include "relay/lower/schedule/schedule.h"

#include <algorithm>
#include <charconv>

#include "relay/base/fuzzing.h"

namespace relay::lower {

const te::Axis* find_axis(const te::TensorNode& stage, const std::string& name) {
  for (const te::Axis& a : stage.axes)
    if (a.var->name == name) return &a;
  for (const te::Axis& a : stage.reduce_axes)
    if (a.var->name == name) return &a;
  return nullptr;
}

bool is_reduce_axis(const te::TensorNode& stage, const std::string& name) {
  for (const te::Axis& a : stage.reduce_axes)
    if (a.var->name == name) return true;
  return false;
}

static const char* const storage_names[] = {"registers", "stack", "scratch", "array", "tiles", "shared"};
static const char* const kind_names[] = {"serial",       "parallel", "unroll", "vector", "peeled",
                                         "skip_padding", "tile",     "block",  "thread", "async"};

int64_t stages_of(const StageSchedule& schedule) {
  return !schedule.loops.empty() && schedule.loops.back().kind == LoopKind::Async ? schedule.loops.back().step : 1;
}

int innermost_serial(const te::TensorNode& stage, const StageSchedule& schedule) {
  int innermost = -1;
  bool sums = false;
  for (size_t i = 0; i < schedule.loops.size(); ++i) {
    if (schedule.loops[i].kind != LoopKind::Serial && schedule.loops[i].kind != LoopKind::Peeled) continue;
    const bool is_sum = is_reduce_axis(stage, schedule.loops[i].axis);
    if (is_sum || !sums) innermost = static_cast<int>(i);
    sums |= is_sum;
  }
  return innermost;
}

std::string str(const Schedule& schedule, const te::Tensors& order) {
  std::string out = format("rule {}\n", schedule.rule);
  for (size_t i = order.size(); i-- > 0;) {  // consumers first, as readers think of it
    const te::TensorNode& stage = *order[i];
    if (stage.is_placeholder()) continue;
    auto it = schedule.stages.find(stage.name);
    if (it == schedule.stages.end()) continue;
    const StageSchedule& s = it->second;
    out += format("stage {}: ", stage.name);
    switch (s.place) {
      case Place::Inline: out += s.reads_halo ? "inline reads_halo" : "inline"; break;
      case Place::Root: out += "root"; break;
      case Place::At:
        out += format("at {}.{} {}", s.consumer, s.level, storage_names[static_cast<int>(s.storage)]);
        if (!s.ring.empty()) out += " ring " + s.ring;
        break;
    }
    out += "\n";
    for (const Prefetch& a : s.prefetch) out += format("  prefetch {} {}/{}\n", a.array, a.axis, a.step);
    if (!s.prefetch_tile.empty()) out += format("  prefetch_tile {}\n", fmt::to_string(join(s.prefetch_tile, " ")));
    if (s.loops.empty()) continue;
    out += "  loops";
    for (const Loop& l : s.loops) {
      out += format(" {}/{}", l.axis, l.step);
      if (l.kind != LoopKind::Serial) out += format(":{}", kind_names[static_cast<int>(l.kind)]);
    }
    out += "\n";
  }
  for (const auto& [name, layout] : schedule.layouts) out += format("layout {}: {}\n", name, layout.str());
  return out;
}

namespace {

constexpr const char* how_to_write =
    "begin with the schedule that `relay opt MODEL --emit schedule` prints; docs/tour.md changes one";

// A line-oriented reader; every diagnostic points at the offending word.
class Reader {
 public:
  Reader(const std::string& text, const te::Tensors& stages)
      : source_(std::make_shared<Source>(Source{"<schedule>", text})), stages_(stages) {}

  Result<Schedule> read() {
    size_t line_begin = 0;
    StageSchedule* current = nullptr;
    const te::TensorNode* stage = nullptr;
    for (std::string_view line : split(source_->text, '\n')) {
      line_ = line_begin;
      line_begin += line.size() + 1;
      words_.clear();
      for (size_t i = 0; i < line.size();) {
        if (line[i] == ' ' || line[i] == '\r' || line[i] == '\t') {
          ++i;
          continue;
        }
        size_t end = std::min(line.find_first_of(" \r\t", i), line.size());
        words_.push_back({line.substr(i, end - i), i});
        i = end;
      }
      if (words_.empty() || words_[0].text.starts_with("#")) continue;
      std::string_view head = words_[0].text;
      if (head == "rule") {
        schedule_.rule = std::string(trim(line.substr(words_[0].column + 4)));
      } else if (head == "stage") {
        if (RELAY_REFUSES(words_.size() < 3) || !words_[1].text.ends_with(":"))
          return error(0, "expected 'stage NAME: inline | root | at STAGE.LEVEL STORAGE'");
        std::string name(words_[1].text.substr(0, words_[1].text.size() - 1));
        stage = find_stage(name);
        if (!stage) return unknown_stage(1, name);
        current = &schedule_.stages[name];
        *current = {};
        RELAY_RETURN_IF_ERROR(read_place(*current));
      } else if (head == "loops") {
        if (!current) return error(0, "'loops' must follow a stage");
        RELAY_RETURN_IF_ERROR(read_loops(*current, *stage));
      } else if (head == "prefetch") {
        if (!current) return error(0, "'prefetch' must follow a stage");
        RELAY_RETURN_IF_ERROR(read_prefetch(*current, *stage));
      } else if (head == "prefetch_tile") {
        if (!current) return error(0, "'prefetch_tile' must follow a stage");
        RELAY_RETURN_IF_ERROR(read_prefetch_tile(*current));
      } else if (head == "layout") {
        RELAY_RETURN_IF_ERROR(read_layout());
      } else {
        return error(0, format("expected rule, stage, loops, prefetch, prefetch_tile or layout, found '{}'", head));
      }
    }
    for (const te::Tensor& t : stages_)
      if (!t->is_placeholder() && !schedule_.stages.count(t->name))
        return Diagnostic{DiagnosticKind::illegal_schedule,
                          format("stage '{}' has no schedule", t->name),
                          Span{source_, 0, 0, {}},
                          {},
                          {},
                          format("add 'stage {}: inline' or another place", t->name)};
    return std::move(schedule_);
  }

 private:
  struct Word {
    std::string_view text;
    size_t column;
  };

  Diagnostic error(size_t word, std::string message, std::string help = how_to_write) const {
    Span span{source_, static_cast<uint32_t>(line_), static_cast<uint32_t>(line_ + 1), {}};
    if (word < words_.size()) {
      span.begin = static_cast<uint32_t>(line_ + words_[word].column);
      span.end = static_cast<uint32_t>(span.begin + words_[word].text.size());
    }
    return {DiagnosticKind::illegal_schedule, std::move(message), span, {}, {}, std::move(help)};
  }
  const te::TensorNode* find_stage(const std::string& name) const {
    for (const te::Tensor& t : stages_)
      if (t->name == name) return t.get();
    return nullptr;
  }
  Diagnostic unknown_stage(size_t word, const std::string& name) const {
    std::vector<std::string> names;
    for (const te::Tensor& t : stages_) names.push_back(t->name);
    return error(word, format("the group has no stage '{}'", name),
                 format("its stages are {}", fmt::to_string(join(names, ", "))));
  }
  static bool number(std::string_view text, int64_t* value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return code == std::errc() && end == text.data() + text.size();
  }

  Status read_place(StageSchedule& s) {
    std::string_view place = words_[2].text;
    if (place == "inline") {
      s.place = Place::Inline;
      s.reads_halo = words_.size() > 3 && words_[3].text == "reads_halo";
      return ok();
    }
    if (place == "root") {
      s.place = Place::Root;
      return ok();
    }
    constexpr int64_t most_levels = 64;  // more than the loops of any stage
    constexpr size_t least_words = 5;    // stage NAME: at STAGE.LEVEL STORAGE
    if (place != "at" || words_.size() < least_words)
      return error(2, "expected inline, root or 'at STAGE.LEVEL registers|stack|scratch|array|tiles|shared'");
    size_t dot = words_[3].text.rfind('.');
    int64_t level = 0;
    if (dot == std::string_view::npos || !number(words_[3].text.substr(dot + 1), &level) || level < 0 ||
        level > most_levels)
      return error(3, format("'{}' is not STAGE.LEVEL", words_[3].text));
    s.place = Place::At;
    s.consumer = std::string(words_[3].text.substr(0, dot));
    s.level = static_cast<int>(level);
    if (!find_stage(s.consumer)) return unknown_stage(3, s.consumer);
    const char* const* found = std::find(std::begin(storage_names), std::end(storage_names), words_[4].text);
    if (found == std::end(storage_names))
      return error(4, format("'{}' is not a storage", words_[4].text),
                   "registers, stack, scratch, array, tiles or shared");
    s.storage = static_cast<Storage>(found - storage_names);
    if (words_.size() >= least_words + 2 && words_[5].text == "ring") s.ring = std::string(words_[6].text);
    return ok();
  }

  Status read_loops(StageSchedule& s, const te::TensorNode& stage) {
    for (size_t w = 1; w < words_.size(); ++w) {
      std::string_view text = words_[w].text;
      Loop loop;
      if (size_t colon = text.find(':'); colon != std::string_view::npos) {
        const char* const* found = std::find(std::begin(kind_names), std::end(kind_names), text.substr(colon + 1));
        if (found == std::end(kind_names))
          return error(w, format("'{}' is not a kind of loop", text.substr(colon + 1)),
                       "serial, parallel, unroll, vector, peeled, skip_padding, tile, block, thread or async");
        loop.kind = static_cast<LoopKind>(found - kind_names);
        text = text.substr(0, colon);
      }
      size_t slash = text.find('/');
      if (slash == std::string_view::npos || !number(text.substr(slash + 1), &loop.step) || loop.step < 1)
        return error(w, format("'{}' is not AXIS/STEP with a step of at least 1", text));
      loop.axis = std::string(text.substr(0, slash));
      if (!find_axis(stage, loop.axis)) {
        std::vector<std::string> names;
        for (const te::Axis& a : stage.axes) names.push_back(a.var->name);
        for (const te::Axis& a : stage.reduce_axes) names.push_back(a.var->name);
        return error(w, format("stage '{}' has no axis '{}'", stage.name, loop.axis),
                     format("its axes are {}", fmt::to_string(join(names, ", "))));
      }
      s.loops.push_back(loop);
    }
    return ok();
  }

  Status read_prefetch(StageSchedule& s, const te::TensorNode& stage) {
    const size_t slash = words_.size() == 3 ? words_[2].text.find('/') : std::string_view::npos;
    Prefetch a;
    if (slash == std::string_view::npos || !number(words_[2].text.substr(slash + 1), &a.step) || a.step < 1)
      return error(0, "expected 'prefetch TENSOR AXIS/STEP'");
    a.array = std::string(words_[1].text), a.axis = std::string(words_[2].text.substr(0, slash));
    if (!find_stage(a.array)) return unknown_stage(1, a.array);
    if (!find_axis(stage, a.axis)) return error(2, format("stage '{}' has no axis '{}'", stage.name, a.axis));
    s.prefetch.push_back(std::move(a));
    return ok();
  }

  Status read_prefetch_tile(StageSchedule& s) {
    if (words_.size() < 2) return error(0, "expected 'prefetch_tile TENSOR ..'");
    for (size_t w = 1; w < words_.size(); ++w) {
      s.prefetch_tile.emplace_back(words_[w].text);
      if (!find_stage(s.prefetch_tile.back())) return unknown_stage(w, s.prefetch_tile.back());
    }
    return ok();
  }

  Status read_layout() {
    if (words_.size() < 3 || !words_[1].text.ends_with(":")) return error(0, "expected 'layout NAME: 0,2,3,1'");
    std::string name(words_[1].text.substr(0, words_[1].text.size() - 1));
    const te::TensorNode* tensor = find_stage(name);
    if (!tensor) return unknown_stage(1, name);
    Layout layout;
    for (std::string_view part : split(words_[2].text, ',')) {
      LayoutDim dim{0};
      int64_t d = 0;
      size_t mark = part.find_first_of("/%");
      if (!number(part.substr(0, mark), &d) || d < 0 || d >= static_cast<int64_t>(tensor->shape.size()))
        return error(2, format("'{}' is not a dimension of '{}'", part, name));
      dim.dim = static_cast<int>(d);
      if (mark != std::string_view::npos) {
        if (!number(part.substr(mark + 1), &dim.block) || dim.block < 1)
          return error(2, format("'{}' has a bad block size", part));
        dim.inner = part[mark] == '%';
      }
      layout.dims.push_back(dim);
    }
    // Each dimension occurs once, whole or as its two parts: then no two elements share a place.
    for (size_t d = 0; d < tensor->shape.size(); ++d) {
      int64_t whole = 0, outer = 0, inner = 0, parts = 0;
      for (const LayoutDim& l : layout.dims) {
        if (l.dim != static_cast<int>(d)) continue;
        ++parts;
        (l.block == 0 ? whole : l.inner ? inner : outer) = l.block == 0 ? 1 : l.block;
      }
      if (whole ? parts != 1 : parts != 2 || outer != inner)
        return error(2, format("dimension {} of '{}' must occur once, whole or as two parts", d, name),
                     format("write {0}, or {0}/B and {0}%B with one block size B", d));
    }
    schedule_.layouts[name] = layout;
    return ok();
  }

  std::shared_ptr<const Source> source_;
  const te::Tensors& stages_;
  Schedule schedule_;
  std::vector<Word> words_;
  size_t line_ = 0;
};

}  // namespace

Result<Schedule> parse_schedule(const std::string& text, const te::Tensors& stages) {
  return Reader(text, stages).read();
}

}  // namespace relay::lower
