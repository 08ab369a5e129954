#include "relay/runtime/value.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>

#include "relay/runtime/references.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

// --- data types ------------------------------------------------------------------------------------------------------

namespace {
struct Types {
  std::shared_mutex mutex;
  std::deque<DataType> all;  // stays where it is
};
Types& types() {
  static Types* made = new Types;
  return *made;
}
}  // namespace

TypeId intern_type(const DataType& type) {
  Types& t = types();
  std::unique_lock<std::shared_mutex> lock(t.mutex);
  for (size_t i = 0; i < t.all.size(); ++i)
    if (t.all[i] == type) return static_cast<TypeId>(i);
  t.all.push_back(type);
  return static_cast<TypeId>(t.all.size() - 1);
}

const DataType& data_type(TypeId id) {
  Types& t = types();
  std::shared_lock<std::shared_mutex> lock(t.mutex);
  RELAY_CHECK(id < t.all.size(), "there is no data type {}", id);
  return t.all[id];
}

// --- objects ---------------------------------------------------------------------------------------------------------

Object* make_object(ObjectKind kind, uint32_t id, uint16_t tag, std::span<Object* const> given) {
  void* memory = std::malloc(sizeof(Object) + given.size() * sizeof(Object*));
  if (memory == nullptr) return nullptr;
  Object* o = new (memory) Object;
  o->kind = kind;
  o->id = id;
  o->tag = tag;
  o->size = static_cast<uint32_t>(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    fields(o)[i] = given[i];
    o->has_references |= given[i]->has_references;
  }
  return o;
}

static constexpr size_t data_alignment = 64;
static constexpr size_t array_from = size_t{1} << 20;  // from here on with huge pages, in a block of its own

TensorObject* make_tensor(uint32_t dtype, std::span<const int64_t> dims, size_t bytes) {
  size_t head = sizeof(TensorObject) + dims.size() * sizeof(int64_t);
  bool small = bytes <= small_tensor_bytes, array = bytes >= array_from;
  void* memory = std::malloc(head + (array ? 0 : small ? std::max<size_t>(bytes, 8) : bytes + data_alignment));
  if (memory == nullptr) return nullptr;
  TensorObject* t = new (memory) TensorObject;
  t->kind = ObjectKind::Tensor;
  t->id = dtype;
  t->tag = array ? TensorObject::Array : TensorObject::Inside;
  t->size = static_cast<uint32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) t->dims()[d] = dims[d];
  uintptr_t inside = reinterpret_cast<uintptr_t>(memory) + head;
  if (!small) inside = (inside + data_alignment - 1) / data_alignment * data_alignment;
  t->data = array ? allocate_array(bytes) : reinterpret_cast<void*>(inside);
  if (t->data == nullptr) {
    std::free(memory);
    return nullptr;
  }
  return t;
}

// Of a tensor whose data lies elsewhere.
static TensorObject* make_head(uint32_t dtype, std::span<const int64_t> dims, TensorObject::Storage storage) {
  void* memory = std::malloc(sizeof(TensorObject) + dims.size() * sizeof(int64_t));
  if (memory == nullptr) return nullptr;
  TensorObject* t = new (memory) TensorObject;
  t->kind = ObjectKind::Tensor;
  t->id = dtype;
  t->tag = storage;
  t->size = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), t->dims());
  return t;
}

TensorObject* make_row(uint32_t dtype, std::span<const int64_t> dims) {
  return make_head(dtype, dims, TensorObject::Row);
}

Object* share_tensor(const Tensor& tensor) {
  size_t bytes = tensor.bytes();
  bool aligned = reinterpret_cast<uintptr_t>(tensor.data()) % static_cast<size_t>(tensor.dtype().bytes()) == 0;
  if (bytes <= small_tensor_bytes || !aligned) {
    TensorObject* t = make_tensor(dtype_id(tensor.dtype()), tensor.shape(), bytes);
    if (t && bytes > 0) std::memcpy(t->data, tensor.data(), bytes);
    return t;
  }
  TensorObject* t = make_head(dtype_id(tensor.dtype()), tensor.shape(), TensorObject::Shared);
  if (t == nullptr) return nullptr;
  t->data = const_cast<void*>(tensor.data());
  t->owner = new std::shared_ptr<const void>(std::make_shared<Tensor>(tensor));
  return t;
}

void destroy(Object* first) {
  // The work list goes through the first eight bytes of objects that are dead.
  Object* list = nullptr;
  auto push = [&](Object* o) {
    o->count.store(0, std::memory_order_relaxed);
    if (o->kind == ObjectKind::Reference) forget(static_cast<ReferenceObject*>(o));
    std::memcpy(static_cast<void*>(o), &list, sizeof(list));
    list = o;
  };
  auto drop = [&](Object* o) {
    if (is_unique(o) || o->count.fetch_sub(1, std::memory_order_acq_rel) == 1) push(o);
  };
  push(first);
  while (list) {
    Object* o = list;
    std::memcpy(&list, static_cast<const void*>(o), sizeof(list));
    switch (o->kind) {
      case ObjectKind::Tensor: {
        TensorObject* t = as_tensor(o);
        if (t->tag == TensorObject::Array) free_array(t->data);
        if (t->is_shared() || t->tag == TensorObject::Given) delete t->owner;
        if (t->tag == TensorObject::Row && t->rows) drop(t->rows);
        break;
      }
      case ObjectKind::Reference:
        if (Object* content = static_cast<ReferenceObject*>(o)->content) drop(content);
        break;
      case ObjectKind::Tuple:
      case ObjectKind::Data:
      case ObjectKind::Closure:
        for (uint32_t i = 0; i < o->size; ++i)
          if (fields(o)[i]) drop(fields(o)[i]);
        break;
    }
    std::free(o);
  }
}

// --- values ----------------------------------------------------------------------------------------------------------

static Value made(Object* o) {
  if (o == nullptr) throw std::bad_alloc();
  return Value::take(o);
}

static Value make(ObjectKind kind, uint32_t id, uint32_t tag, std::vector<Value> given) {
  std::vector<Object*> objects;
  for (Value& v : given) {
    RELAY_CHECK(v, "a field has no value");
    objects.push_back(v.get());
  }
  Value out = made(make_object(kind, id, static_cast<uint16_t>(tag), objects));
  for (Value& v : given) v.detach();
  return out;
}

Value Value::tensor(const Tensor& tensor) { return made(share_tensor(tensor)); }
Value Value::constant(const Tensor& tensor) {
  Value v = Value::tensor(tensor);
  if (as_tensor(v.get())->tag != TensorObject::Array) v.get()->tag = TensorObject::Constant;
  return v;
}
Value Value::given(const Tensor& tensor) {
  Value v = Value::tensor(tensor);
  if (v.get()->tag == TensorObject::Shared) v.get()->tag = TensorObject::Given;
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
  std::shared_ptr<const void> owner(retain(object_),
                                    [](const void* o) { release(const_cast<Object*>(static_cast<const Object*>(o))); });
  return Tensor::view(t->data, Shape(t->dims(), t->dims() + t->size), dtype_of(t), std::move(owner));
}

std::string describe(const Object* o) {
  switch (o->kind) {
    case ObjectKind::Tensor: return "a tensor of " + dtype_of(o).str();
    case ObjectKind::Tuple: return "a tuple";
    case ObjectKind::Data: return "a value of type " + data_type(o->id).name;
    case ObjectKind::Closure: return "a function";
    case ObjectKind::Reference: return "a reference";
  }
  return {};
}

std::string str(const Value& value, size_t limit) {
  std::string out;
  struct Piece {
    const char* text;
    Value value;
  };
  std::vector<Piece> work = {{nullptr, value}};  // to be written, the next last
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
  std::set<std::pair<Object*, Object*>> shared;  // compared once, however many ways lead to them
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
