#include "relay/exec/code.h"

#include <set>

namespace relay::exec {

using runtime::Op;

Code::Item& Code::put(Op op, Registers args, uint32_t index) {
  Item& item = items_.emplace_back();
  item.op = op, item.args = std::move(args), item.index = index;
  return item;
}

uint32_t Code::value(Op op, Registers args, uint32_t index) {
  uint32_t to = reg();
  put(op, std::move(args), index).to = to;
  return to;
}

Code::Registers Code::segment(uint32_t segment, Registers args, size_t results) {
  Registers out;
  for (size_t i = 0; i < results; ++i) out.push_back(reg());
  put(Op::RunSegment, std::move(args), segment).list = out;
  return out;
}

uint32_t Code::data(uint32_t type, uint32_t tag, Registers fields) {
  uint32_t to = value(Op::MakeData, std::move(fields), type);
  items_.back().tag = tag;
  return to;
}

uint32_t Code::tensor_of_shape(Registers args, std::vector<std::string> about) {
  const uint32_t to = value(Op::MakeTensor, std::move(args));
  items_.back().messages = std::move(about);
  return to;
}

void Code::place(Label label) {
  Item& item = put(Op::Jump, {}, label.id);
  item.is_place = true;
}

void Code::switch_tag(uint32_t of, uint32_t type, const std::vector<Label>& targets) {
  Item& item = put(Op::SwitchTag, {of}, type);
  for (Label l : targets) item.list.push_back(l.id);
}

// A register that is written by one move is merged with the source of the move, if that is written once too.
void Code::merge_copies() {
  std::vector<uint32_t> writes(registers_, 0), same(registers_);
  for (uint32_t r = 0; r < registers_; ++r) same[r] = r, writes[r] = r < parameters_;
  for (const Item& item : items_) {
    if (item.is_place) continue;
    if (has_result(item.op)) ++writes[item.to];
    if (item.op == Op::RunSegment)
      for (uint32_t r : item.list) ++writes[r];
  }
  for (Item& item : items_) {  // the source of a move was written before
    if (item.is_place) continue;
    for (uint32_t& r : item.args) r = same[r];
    if (item.op != Op::Move || writes[item.to] != 1 || writes[item.args[0]] != 1) continue;
    same[item.to] = item.args[0];
    item.unused = true;
  }
}

// Walks the code backwards, which only jumps forward, with the set of registers whose values are used later.
Code::Registers Code::find_last_uses() {
  std::set<uint32_t> live;
  std::vector<std::set<uint32_t>> live_at(labels_);
  std::vector<size_t> place_of(labels_);
  auto missing = [](const std::set<uint32_t>& all, const std::set<uint32_t>& here) {
    Registers out;
    for (uint32_t r : all)
      if (!here.count(r)) out.push_back(r);
    return out;
  };
  for (size_t i = items_.size(); i-- > 0;) {
    Item& item = items_[i];
    if (item.unused) continue;
    if (item.is_place) {
      live_at[item.index] = live;
      place_of[item.index] = i;
      continue;
    }
    switch (item.op) {
      case Op::Jump: live = live_at[item.index]; break;
      case Op::BranchIfFalse: {
        std::set<uint32_t> all = live;
        all.insert(live_at[item.index].begin(), live_at[item.index].end());
        item.drops_after = missing(all, live);
        items_[place_of[item.index]].drops_after = missing(all, live_at[item.index]);
        live = std::move(all);
        break;
      }
      case Op::SwitchTag: {
        live.clear();
        for (uint32_t l : item.list) live.insert(live_at[l].begin(), live_at[l].end());
        for (uint32_t l : item.list) items_[place_of[l]].drops_after = missing(live, live_at[l]);
        break;
      }
      case Op::Return:
      case Op::TailCall:
      case Op::TailCallClosure:
      case Op::Fail: live.clear(); break;
      default: break;
    }
    if (has_result(item.op) && live.erase(item.to) == 0) {
      if (item.op != Op::Call && item.op != Op::CallClosure) {
        item.unused = true;
        continue;
      }
      item.drops_after.push_back(item.to);
    }
    if (item.op == Op::RunSegment) {
      bool any = false;
      for (uint32_t r : item.list) any |= live.count(r) > 0;
      if (!any) {
        item.unused = true;
        continue;
      }
      for (uint32_t r : item.list)
        if (live.erase(r) == 0) item.drops_after.push_back(r);
    }
    item.last.resize(item.args.size());
    for (size_t a = item.args.size(); a-- > 0;) item.last[a] = live.insert(item.args[a]).second;
  }
  Registers unused;
  for (uint32_t p = 0; p < parameters_; ++p)
    if (!live.count(p)) unused.push_back(p);
  return unused;
}

runtime::Function Code::finish(const std::string& name) {
  merge_copies();
  Registers unused = find_last_uses();
  runtime::FunctionBuilder out(name, parameters_);
  std::vector<uint32_t> place(registers_, UINT32_MAX);
  for (uint32_t p = 0; p < parameters_; ++p) place[p] = p;
  std::vector<runtime::FunctionBuilder::Label> labels;
  for (uint32_t l = 0; l < labels_; ++l) labels.push_back(out.label());
  for (uint32_t r : unused) out.drop(r);
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (item.unused) continue;
    if (item.is_place) {
      out.place(labels[item.index]);
    } else {
      runtime::FunctionBuilder::Operands args;
      for (size_t a = 0; a < item.args.size(); ++a)
        args.push_back(item.last[a] ? runtime::last(place[item.args[a]]) : runtime::use(place[item.args[a]]));
      switch (item.op) {
        case Op::Constant: place[item.to] = out.constant(item.index); break;
        case Op::Move:
          if (place[item.to] == UINT32_MAX) place[item.to] = out.reg();
          out.move(args[0], place[item.to]);
          break;
        case Op::RunSegment: {
          std::vector<uint32_t> results = out.segment(item.index, args, static_cast<uint32_t>(item.list.size()));
          for (size_t r = 0; r < results.size(); ++r) place[item.list[r]] = results[r];
          break;
        }
        case Op::MakeTuple: place[item.to] = out.tuple(args); break;
        case Op::MakeData: place[item.to] = out.data(item.index, static_cast<uint16_t>(item.tag), args); break;
        case Op::GetField: place[item.to] = out.field(args[0], item.index); break;
        case Op::SwitchTag: {
          std::vector<runtime::FunctionBuilder::Label> targets;
          for (uint32_t l : item.list) targets.push_back(labels[l]);
          out.switch_tag(args[0], item.index, targets);
          break;
        }
        case Op::Jump: {
          size_t next = i + 1;
          while (next < items_.size() && items_[next].unused) ++next;
          if (next == items_.size() || !items_[next].is_place || items_[next].index != item.index)
            out.jump(labels[item.index]);
          break;
        }
        case Op::BranchIfFalse: out.branch_if_false(args[0], labels[item.index]); break;
        case Op::Call: place[item.to] = out.call(item.index, args); break;
        case Op::TailCall: out.tail_call(item.index, args); break;
        case Op::MakeClosure: place[item.to] = out.closure(item.index, args); break;
        case Op::CallClosure:
        case Op::TailCallClosure: {
          runtime::Operand closure = args[0];
          args.erase(args.begin());
          if (item.op == Op::CallClosure)
            place[item.to] = out.call_closure(closure, args);
          else
            out.tail_call_closure(closure, args);
          break;
        }
        case Op::MakeTensor: place[item.to] = out.tensor_of_shape(args, item.messages); break;
        case Op::MakeReference: place[item.to] = out.reference(args[0]); break;
        case Op::ReadReference: place[item.to] = out.read(args[0]); break;
        case Op::WriteReference: out.write(args[0], args[1]); break;
        case Op::Return: out.ret(args[0]); break;
        case Op::Fail: out.fail(item.messages[0]); break;
        case Op::Drop: RELAY_CHECK(false, "drops are found, not written");
      }
    }
    for (uint32_t r : item.drops_after) out.drop(place[r]);
  }
  return out.finish();
}

}  // namespace relay::exec
