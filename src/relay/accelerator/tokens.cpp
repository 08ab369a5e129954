#include "relay/accelerator/tokens.h"

#include <algorithm>

namespace relay::accelerator {

static size_t index(Module m) { return static_cast<size_t>(m); }

static Access reached(const Instruction& i, Space space, bool writes, int first, int Loop::* step) {
  int64_t last = first;
  for (const Loop& l : i.loop) last += int64_t{l.extent - 1} * (l.*step);
  return {space, writes, first, last + 1};
}

static Access moved(const Instruction& i, bool writes, int bytes) {
  const int64_t end = int64_t{i.address} + int64_t{i.lines - 1} * i.pitch + int64_t{i.columns} * bytes;
  return {Space::Memory, writes, i.address / 16, (end + 15) / 16};
}

std::vector<Access> accesses(const Instruction& i) {
  const int64_t rows_end = i.row + i.moved_rows();
  switch (i.opcode) {
    case Opcode::Halt:
    case Opcode::Sync: return {};
    case Opcode::LoadData: return {moved(i, false, 16), {Space::Data, true, i.row, rows_end}};
    case Opcode::LoadWeight: return {moved(i, false, 256), {Space::Weight, true, i.row, rows_end}};
    case Opcode::LoadParam: return {moved(i, false, 256), {Space::Param, true, i.row, rows_end}};
    case Opcode::Store: return {moved(i, true, 16), {Space::Out, false, i.row, rows_end}};
    case Opcode::Multiply:
      return {reached(i, Space::Sum, true, i.sum, &Loop::sum_step),
              reached(i, Space::Data, false, i.data, &Loop::data_step),
              reached(i, Space::Weight, false, i.weight, &Loop::weight_step)};
    case Opcode::Vector: break;
  }
  std::vector<Access> out = {reached(i, Space::Sum, !i.to_out, i.sum, &Loop::sum_step)};
  if (i.to_out) out.push_back(reached(i, Space::Out, true, i.sum, &Loop::sum_step));
  if (i.operand == Operand::Data) out.push_back(reached(i, Space::Data, false, i.data, &Loop::data_step));
  if (i.operand == Operand::Param || i.function >= Function::Scale)
    out.push_back(reached(i, Space::Param, false, i.weight, &Loop::weight_step));
  return out;
}

static bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  for (const Access& x : a)
    for (const Access& y : b)
      if (x.space == y.space && (x.writes || y.writes) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

// The channel between neighbours: compute and another module.
static Channel channel_of(Module from, Module to) {
  return from == Module::Load    ? Channel::Filled
         : from == Module::Store ? Channel::Drained
         : to == Module::Load    ? Channel::Freed
                                 : Channel::Ready;
}

size_t Sequence::needed(Module m, const std::vector<Access>& accesses, size_t known) const {
  const std::vector<Entry>& done = done_[index(m)];
  for (size_t count = done.size(); count > known; --count)
    if (conflict(done[count - 1].accesses, accesses)) return count;
  return 0;
}

void Sequence::append(Instruction i) {
  const size_t m = index(i.module());
  Entry entry{stream_.size(), accesses(i), clocks_[m]};
  entry.clock[m] = done_[m].size() + 1;
  clocks_[m] = entry.clock;
  done_[m].push_back(std::move(entry));
  stream_.push_back(i);
}

// Pairs of sender and receiver are in the same order on both sides: if a later instruction of `from` had sent a token
// to an earlier one of `to`, this one would be ordered already. The n-th wait therefore gets the n-th token.
void Sequence::order(Module from, size_t count, Module to, Instruction& i) {
  const Entry& entry = done_[index(from)][count - 1];
  const Channel channel = channel_of(from, to);
  stream_[entry.at].signal(channel);
  i.wait_for(channel);
  Clock& clock = clocks_[index(to)];
  for (size_t m = 0; m < modules; ++m) clock[m] = std::max(clock[m], entry.clock[m]);
}

size_t Sequence::meeting(Module from, size_t count) {
  const std::vector<Entry>& compute = done_[index(Module::Compute)];
  if (clocks_[index(Module::Compute)][index(from)] < count) {
    Instruction sync;
    sync.opcode = Opcode::Sync;
    order(from, count, Module::Compute, sync);
    append(sync);
  }
  const auto later = std::partition_point(compute.begin(), compute.end(),
                                          [&](const Entry& e) { return e.clock[index(from)] < count; });
  return static_cast<size_t>(later - compute.begin()) + 1;
}

void Sequence::add(Instruction i) {
  i.waits = i.signals = 0;
  const Module to = i.module();
  const std::vector<Access> own = accesses(i);
  const auto needs = [&](Module from) { return needed(from, own, clocks_[index(to)][index(from)]); };
  if (to == Module::Compute) {
    for (Module from : {Module::Load, Module::Store})
      if (const size_t count = needs(from)) order(from, count, to, i);
  } else {
    // No channel connects load and store: they meet in compute.
    const Module far = to == Module::Load ? Module::Store : Module::Load;
    size_t after = needs(Module::Compute);
    if (const size_t count = needs(far)) after = std::max(after, meeting(far, count));
    if (after != 0) order(Module::Compute, after, to, i);
  }
  append(i);
}

Stream Sequence::finish() {
  Instruction halt;
  for (Module from : {Module::Load, Module::Store}) {
    const size_t count = done_[index(from)].size();
    if (clocks_[index(Module::Compute)][index(from)] < count) order(from, count, Module::Compute, halt);
  }
  append(halt);
  return std::move(stream_);
}

}  // namespace relay::accelerator
