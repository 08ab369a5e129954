#include "relay/runtime/functions/object.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relay/runtime/devices/devices.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

// --- data types ------------------------------------------------------------------------------------------------------

namespace {
struct Types {
  std::shared_mutex mutex;
  std::deque<DataType> all;  // elements never move
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

Object* make_object(ObjectKind kind, uint32_t id, uint16_t tag, std::span<Object* const> contents) {
  void* memory = std::malloc(sizeof(Object) + contents.size() * sizeof(Object*));
  if (memory == nullptr) return nullptr;
  Object* o = new (memory) Object;
  o->kind = kind;
  o->id = id;
  o->tag = tag;
  o->size = static_cast<uint32_t>(contents.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    fields(o)[i] = contents[i];
    o->has_references |= contents[i]->has_references;
  }
  return o;
}

static constexpr size_t data_alignment = 64;
static constexpr size_t array_from = size_t{1} << 20;  // from this size on with huge pages, in a separate block

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

// The object of a tensor whose data is elsewhere.
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

TensorObject* make_device_tensor(uint32_t id, std::span<const int64_t> dims, size_t bytes) {
  TensorObject* t = make_head(id, dims, TensorObject::OnDevice);
  if (t == nullptr) return nullptr;
  t->on = &device(id >> 16);
  t->data = t->on->allocate(std::max<size_t>(bytes, 1));
  if (t->data == nullptr) {
    std::free(t);
    return nullptr;
  }
  return t;
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

static size_t bytes_of(const TensorObject* t) {
  size_t bytes = static_cast<size_t>(dtype_of(t).bytes());
  for (uint32_t d = 0; d < t->size; ++d) bytes *= static_cast<size_t>(t->dims()[d]);
  return bytes;
}

bool keep_own_copy(TensorObject* t) {
  const size_t bytes = bytes_of(t);
  void* data = allocate_array(bytes);
  if (data == nullptr) return false;
  std::memcpy(data, t->data, bytes);
  delete std::exchange(t->owner, nullptr);
  t->data = data, t->tag = TensorObject::Array;
  return true;
}

namespace {

// Copies the tensors of a tuple that have occurred before.
class Separation {
 public:
  bool failed = false;

  Object* apart(Object* o, int depth = 0) {
    if (failed || left_ == 0 || depth > 64) return o;
    --left_;
    if (o->kind == ObjectKind::Tensor && device_of(o) != host_device) return o;  // read only as a copy
    if (o->kind == ObjectKind::Tensor) return seen_.insert(o).second ? o : replaced(o, copy_of(as_tensor(o)));
    if (o->kind != ObjectKind::Tuple || o->size == 0) return o;
    if (!is_unique(o)) {
      std::vector<Object*> parts(fields(o), fields(o) + o->size);
      for (Object* part : parts) retain(part);
      o = replaced(o, make_object(ObjectKind::Tuple, o->id, o->tag, parts));
      if (failed) {
        for (Object* part : parts) release(part);
        return o;
      }
    }
    for (uint32_t i = 0; i < o->size; ++i) fields(o)[i] = apart(fields(o)[i], depth + 1);
    return o;
  }

 private:
  static Object* copy_of(const TensorObject* t) {
    const size_t bytes = bytes_of(t);
    TensorObject* made = make_tensor(t->id, {t->dims(), t->size}, bytes);
    if (made && bytes > 0) std::memcpy(made->data, t->data, bytes);
    return made;
  }
  Object* replaced(Object* o, Object* made) {
    failed = made == nullptr;
    if (failed) return o;
    release(o);
    return made;
  }

  std::unordered_set<const Object*> seen_;
  int left_ = 4096;
};

}  // namespace

Object* with_own_tensors(Object* o) {
  if (o->kind != ObjectKind::Tuple) return o;
  Separation separation;
  o = separation.apart(o);
  if (!separation.failed) return o;
  release(o);
  return nullptr;
}

std::string describe(const Object* o) {
  switch (o->kind) {
    case ObjectKind::Tensor:
      return format("a tensor of {}{}", dtype_of(o).str(),
                    device_of(o) == host_device ? "" : " on " + str(device(device_of(o)).name()));
    case ObjectKind::Tuple: return "a tuple";
    case ObjectKind::Data: return "a value of type " + data_type(o->id).name;
    case ObjectKind::Closure: return "a function";
    case ObjectKind::Reference: return "a reference";
  }
  return {};
}

}  // namespace relay::runtime
