#include "relay/runtime/functions/value.h"

#include <new>
#include <set>

#include "relay/runtime/devices/devices.h"
#include "relay/runtime/functions/references.h"

namespace relay::runtime {

static Value made(Object* o) {
  if (o == nullptr) throw std::bad_alloc();
  return Value::take(o);
}

static Value make(ObjectKind kind, uint32_t id, uint32_t tag, std::vector<Value> values) {
  std::vector<Object*> objects;
  for (Value& v : values) {
    RELAY_CHECK(v, "a field has no value");
    objects.push_back(v.get());
  }
  Value out = made(make_object(kind, id, static_cast<uint16_t>(tag), objects));
  for (Value& v : values) v.detach();
  return out;
}

Value Value::tensor(const Tensor& tensor) { return made(share_tensor(tensor)); }
Value Value::constant(const Tensor& tensor) {
  Value v = Value::tensor(tensor);
  if (as_tensor(v.get())->tag != TensorObject::Array) v.get()->tag = TensorObject::Constant;
  return v;
}
Value Value::donated(const Tensor& tensor) {
  Value v = Value::tensor(tensor);
  if (v.get()->tag == TensorObject::Shared) v.get()->tag = TensorObject::Donated;
  return v;
}
Value Value::tuple(std::vector<Value> fields) { return make(ObjectKind::Tuple, 0, 0, std::move(fields)); }

Value Value::data(TypeId type, uint32_t tag, std::vector<Value> fields) {
  const DataType& t = data_type(type);
  RELAY_CHECK(tag < t.constructors.size() && fields.size() == t.constructors[tag].arity,
              "type {} has no constructor {} of {} fields", t.name, tag, fields.size());
  return make(ObjectKind::Data, type, tag, std::move(fields));
}

Result<Value> Value::data(TypeId type, std::string_view constructor, std::vector<Value> fields) {
  const DataType& t = data_type(type);
  std::vector<std::string> names;
  for (uint32_t tag = 0; tag < t.constructors.size(); ++tag) {
    const Constructor& c = t.constructors[tag];
    names.push_back(c.name);
    if (c.name != constructor) continue;
    if (c.arity != fields.size())
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("constructor `{}` of type {} takes {}, but {} given", c.name, t.name,
                 plural(c.arity, "field", "fields"), plural(static_cast<int64_t>(fields.size()), "was", "were")),
          {},
          {},
          {},
          "give a value for each field"};
    return data(type, tag, std::move(fields));
  }
  return Diagnostic{DiagnosticKind::wrong_input,
                    format("type {} has no constructor `{}`", t.name, constructor),
                    {},
                    {},
                    {},
                    format("its constructors are: {}", join(names, ", "))};
}

Value Value::reference(Value content) {
  Value out = made(ReferenceHeap::resting().make(content.get()));
  content.detach();
  return out;
}

Value Value::content() const { return take(read_reference(static_cast<ReferenceObject*>(object_))); }

Tensor Value::tensor() const {
  const TensorObject* t = as_tensor(object_);
  if (device_of(t) != host_device) {
    Tensor copy = Tensor::empty(Shape(t->dims(), t->dims() + t->size), dtype_of(t));
    const Status done =
        copy.bytes() == 0 ? ok() : copy_between(device_of(t), t->data, host_device, copy.mutable_data(), copy.bytes());
    RELAY_CHECK(done, "{}", render(done.errors()));
    return copy;
  }
  std::shared_ptr<const void> owner(retain(object_),
                                    [](const void* o) { release(const_cast<Object*>(static_cast<const Object*>(o))); });
  return Tensor::view(t->data, Shape(t->dims(), t->dims() + t->size), dtype_of(t), std::move(owner));
}

std::string str(const Value& value, size_t limit) {
  std::string out;
  struct Piece {
    const char* text;
    Value value;
  };
  std::vector<Piece> work = {{nullptr, value}};  // still to be written, the next one last
  auto list = [&](const Value& v, const char* open, const char* close) {
    work.push_back({close, {}});
    for (size_t i = v.size(); i-- > 0;) {
      work.push_back({nullptr, v.field(i)});
      if (i > 0) work.push_back({", ", {}});
    }
    work.push_back({open, {}});
  };
  while (!work.empty()) {
    Piece piece = std::move(work.back());
    work.pop_back();
    if (piece.text) {
      out += piece.text;
      continue;
    }
    const Value& v = piece.value;
    if (limit-- == 0) return out + "...";
    switch (v.kind()) {
      case ObjectKind::Tensor: {
        Tensor t = v.tensor();
        if (t.rank() == 0 && t.dtype().is_float())
          out += format("{}", t.at(0));
        else if (t.rank() == 0)
          out += t.dtype().is_bool() ? (t.int_at(0) ? "True" : "False") : std::to_string(t.int_at(0));
        else
          out += str(t);
        break;
      }
      case ObjectKind::Tuple: list(v, "(", v.size() == 1 ? ",)" : ")"); break;
      case ObjectKind::Data:
        out += v.constructor();
        if (v.size() > 0) list(v, "(", ")");
        break;
      case ObjectKind::Closure: out += "fn"; break;
      case ObjectKind::Reference:
        out += "ref";
        work.push_back({")", {}});
        work.push_back({nullptr, v.content()});
        work.push_back({"(", {}});
        break;
    }
  }
  return out;
}

bool equal(const Value& a, const Value& b) {
  std::vector<std::pair<Object*, Object*>> work = {{a.get(), b.get()}};
  std::set<std::pair<Object*, Object*>> shared;  // compared once, on however many paths they are reached
  while (!work.empty()) {
    Object *x = work.back().first, *y = work.back().second;
    work.pop_back();
    if (x == y) continue;
    if (x && y && !is_unique(x) && !is_unique(y) && !shared.emplace(x, y).second) continue;
    if (!x || !y || x->kind != y->kind || x->id != y->id || x->size != y->size) return false;
    switch (x->kind) {
      case ObjectKind::Tensor:
        if (!equal(Value::share(x).tensor(), Value::share(y).tensor())) return false;
        break;
      case ObjectKind::Tuple:
      case ObjectKind::Data:
        if (x->tag != y->tag) return false;
        for (uint32_t i = 0; i < x->size; ++i) work.emplace_back(fields(x)[i], fields(y)[i]);
        break;
      case ObjectKind::Closure:
      case ObjectKind::Reference: return false;
    }
  }
  return true;
}

}  // namespace relay::runtime
