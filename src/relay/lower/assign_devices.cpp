#include "relay/lower/assign_devices.h"

#include <array>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "relay/lower/plan/views.h"

namespace relay::lower {

namespace {

class Devices {
 public:
  Devices(FunctionPlan& plan, const LowerOptions& options)
      : plan_(plan), options_(options), parents_(plan.arrays.size()), device_(plan.arrays.size(), -1) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  // The device of each array.
  std::vector<int> devices() {
    place_all();
    std::vector<int> out;
    for (size_t i = 0; i < parents_.size(); ++i)
      out.push_back(std::max(0, device_[static_cast<size_t>(find(static_cast<int>(i)))]));
    return out;
  }

  Status run() {
    const std::vector<int> placed = devices();
    if (!errors_.empty()) return errors_;
    for (size_t i = 0; i < placed.size(); ++i) plan_.arrays[i].memory = static_cast<MemorySpace>(placed[i]);
    for (Group& g : plan_.groups) {
      if (g.check || g.transfer) continue;
      const MemorySpace memory = plan_.arrays[g.outputs[0]].memory;
      for (std::vector<int>* arrays : {&g.params, &g.constants})
        for (int& a : *arrays)
          if (is_constant(a)) a = constant_in(a, memory);
    }
    for (size_t i = 0; i < parents_.size(); ++i)
      if (const int alias = plan_.arrays[i].alias; alias >= 0 && is_constant(alias))
        plan_.arrays[i].alias = constant_in(alias, plan_.arrays[i].memory);  // may add arrays behind
    return ok();
  }

 private:
  void place_all() {
    for (size_t i = 0; i < plan_.arrays.size(); ++i) {
      const Array& a = plan_.arrays[i];
      if (a.kind == Array::Kind::Input) place(static_cast<int>(i), of(options_.param_devices, a), {});
      if (a.kind == Array::Kind::Output) place(static_cast<int>(i), of(options_.result_devices, a), {});
      if (a.alias >= 0) join(static_cast<int>(i), a.alias, {});
      if (a.view) join(static_cast<int>(i), a.view->base, {});
    }
    for (const Group& g : plan_.groups) {
      if (g.transfer) place(g.params[0], g.transfer->from, g), place(g.outputs[0], g.transfer->to, g);
      if (g.check || g.transfer) continue;
      for (const std::vector<int>* arrays : {&g.params, &g.outputs})
        for (int a : *arrays) join(a, g.outputs[0], g);
      if (g.steps)
        for (int a : g.steps->initial) join(a, g.outputs[0], g);
      if (g.external) place(g.outputs[0], 0, g);
    }
  }

  static int of(const std::vector<int>& devices, const Array& a) {
    return a.index < devices.size() ? devices[a.index] : 0;
  }
  bool is_constant(int array) const { return plan_.arrays[array].kind == Array::Kind::Constant; }
  int find(int a) {
    while (parents_[static_cast<size_t>(a)] != a) a = parents_[static_cast<size_t>(a)];
    return a;
  }

  void join(int a, int b, const Group& g) {
    if (is_constant(a) || is_constant(b)) return;
    const int x = find(a), y = find(b);
    if (x == y) return;
    int& known = device_[static_cast<size_t>(x)];
    const int other = device_[static_cast<size_t>(y)];
    if (known >= 0 && other >= 0 && known != other) return conflict(known, other, g);
    known = std::max(known, other);
    parents_[static_cast<size_t>(y)] = x;
  }
  void place(int array, int device, const Group& g) {
    if (is_constant(array)) return;
    int& known = device_[static_cast<size_t>(find(array))];
    if (known >= 0 && known != device) return conflict(known, device, g);
    known = device;
  }
  void conflict(int a, int b, const Group& g) {
    errors_.push_back(
        {DiagnosticKind::not_supported,
         format("{} would compute with data on {} and on {}", g.te.name.empty() ? "a function" : "`" + g.te.name + "`",
                str(options_.devices[static_cast<size_t>(a)]), str(options_.devices[static_cast<size_t>(b)])),
         g.te.sources.empty() ? Span{} : g.te.sources[0],
         {},
         {},
         g.external ? "functions of other compilers run on cpu:0 only: place the call there"
                    : "wrap one side in on_device(.., constrain_result=False), so that it is copied"});
  }

  // The array of a constant in a memory.
  int constant_in(int array, MemorySpace memory) {
    const auto [known, fresh] = constants_.try_emplace({array, memory}, array);
    if (!fresh) return known->second;
    const bool first = used_.insert(array).second;
    if (!first) {
      known->second = static_cast<int>(plan_.arrays.size());
      plan_.arrays.push_back(Array(plan_.arrays[array]));
    }
    plan_.arrays[known->second].memory = memory;
    return known->second;
  }

  FunctionPlan& plan_;
  const LowerOptions& options_;
  std::vector<int> parents_, device_;  // by array; the device at the representative, -1 if not placed
  std::map<std::pair<int, MemorySpace>, int> constants_;
  std::set<int> used_;
  Diagnostics errors_;
};

enum class Turn : uint8_t { Device, Host, Download };  // the first comes first

Turn turn_of(const Group& g, const std::vector<int>& devices) {
  if (g.transfer) return g.transfer->from == 0 ? Turn::Device : Turn::Download;
  return devices[static_cast<size_t>(g.outputs[0])] == 0 ? Turn::Host : Turn::Device;
}

// Groups without a check among them, in a new order.
std::vector<Group> ordered(std::vector<Group> groups, const std::vector<int>& devices) {
  std::unordered_map<int, size_t> writer;
  std::vector<std::vector<size_t>> readers(groups.size());
  std::vector<size_t> waits(groups.size());  // the number of groups that must come before each
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& g = groups[i];
    std::set<size_t> before;
    auto read = [&](int array) {
      if (const auto found = writer.find(array); found != writer.end()) before.insert(found->second);
    };
    for (int a : g.params) read(a);
    if (g.when >= 0) read(g.when);
    if (g.steps)
      for (int a : g.steps->initial) read(a);
    for (size_t b : before) readers[b].push_back(i);
    waits[i] = before.size();
    for (int a : g.outputs) writer[a] = i;
  }
  std::array<std::set<size_t>, 3> ready;
  auto make_ready = [&](size_t i) { ready[static_cast<size_t>(turn_of(groups[i], devices))].insert(i); };
  for (size_t i = 0; i < groups.size(); ++i)
    if (waits[i] == 0) make_ready(i);
  std::vector<Group> out;
  std::vector<bool> taken(groups.size());
  for (size_t first = 0; first < groups.size();) {  // the first that is left; it waits for none
    size_t next = first;
    for (const std::set<size_t>& turn : ready)
      if (!turn.empty() && *turn.begin() <= first + most_passed) {
        next = *turn.begin();
        break;
      }
    ready[static_cast<size_t>(turn_of(groups[next], devices))].erase(next);
    out.push_back(std::move(groups[next]));
    for (size_t r : readers[next])
      if (--waits[r] == 0) make_ready(r);
    taken[next] = true;
    while (first < groups.size() && taken[first]) ++first;
  }
  return out;
}

}  // namespace

Status assign_devices(FunctionPlan& plan, const LowerOptions& options) {
  if (options.devices.size() == 1) return ok();
  return Devices(plan, options).run();
}

void order_for_devices(FunctionPlan& plan, const LowerOptions& options) {
  if (options.devices.size() == 1) return;
  const std::vector<int> devices = Devices(plan, options).devices();
  std::vector<Group> out, run;
  auto close = [&] {
    for (Group& g : ordered(std::exchange(run, {}), devices)) out.push_back(std::move(g));
  };
  for (Group& g : plan.groups) {
    if (!g.check) {
      run.push_back(std::move(g));
      continue;
    }
    close();
    out.push_back(std::move(g));
  }
  close();
  plan.groups = std::move(out);
}

}  // namespace relay::lower
