// Objects: the reference-counted, immutable targets of values. Machine code accesses them, so their layout is fixed
// here. These functions are for executors; all other code uses value.h.
//
// An object is freed with its last count, even a list of a million links: freeing uses a work list and does not recurse
// (destroy.cpp). Only references are mutable, and only they can form cycles (references.h frees those).
#pragma once

#include <atomic>
#include <span>

#include "relay/runtime/program/data_type.h"
#include "relay/tensor/tensor.h"

namespace relay::runtime {

// --- data types ------------------------------------------------------------------------------------------------------

// A data type of this process. Equal types have the same number, so that values can be passed from one program to
// another, and can be printed without their program. Types are never removed.
using TypeId = uint32_t;
TypeId intern_type(const DataType& type);
const DataType& data_type(TypeId id);

// --- objects ---------------------------------------------------------------------------------------------------------

struct alignas(8) Object {
  std::atomic<uint32_t> count{1};  // at 0, the first eight bytes link the work list of freeing
  uint32_t id =
      0;  // Tensor: its dtype and its device (tensor_id()); Data: its TypeId; Closure: its function (see LinkedProgram)
  ObjectKind kind = ObjectKind::Tuple;
  bool has_references = false;  // is a reference, or can reach one
  uint16_t tag = 0;             // Data: its constructor; Tensor: its Storage
  uint32_t size = 0;            // number of fields; Tensor: of dimensions
};
static_assert(sizeof(Object) == 16);

// Tensors of up to this many bytes have their data in the object.
constexpr size_t small_tensor_bytes = 64;

class Device;
struct TensorObject : Object {
  enum Storage : uint16_t {
    Inside,    // in the same block of memory
    Array,     // from allocate_array()
    Shared,    // kept alive by `owner`
    Row,       // a part of the data of `rows`, a tensor that is not visible elsewhere
    Constant,  // of a program: in the same block of memory, or kept alive by `owner`
    Donated,   // donated, kept alive by `owner`: the holder of the only value may overwrite it
    OnDevice,  // in the memory of the device that its id names
  };
  // In `tag`, above the Storage: not 0 while the contents are still to be computed (call_queue.h), and there is no data
  // yet.
  static constexpr int call_shift = 3;
  uint32_t waits_for() const { return tag >> call_shift; }             // the number of a call, from 1
  bool is_shared() const { return tag == Shared || tag == Constant; }  // its memory may be shared

  // An address in its device's memory: aligned to 64 bytes, or within a small object; for a Row, that of an element.
  void* data = nullptr;
  union {
    std::shared_ptr<const void>* owner = nullptr;
    Object* rows;
    Device* on;  // OnDevice: the device that its id names, for freeing, when the id is lost
  };
  int64_t* dims() { return reinterpret_cast<int64_t*>(this + 1); }
  const int64_t* dims() const { return reinterpret_cast<const int64_t*>(this + 1); }
};

class ReferenceHeap;
struct ReferenceObject : Object {
  Object* content = nullptr;  // guarded by the lock of references.h
  ReferenceHeap* heap = nullptr;
  ReferenceObject *previous = nullptr, *next = nullptr;
};

inline uint32_t dtype_id(DType t) { return static_cast<uint32_t>(t.code) | static_cast<uint32_t>(t.bits) << 8; }
inline DType dtype_of(const Object* tensor) {
  return {static_cast<DType::Code>(tensor->id & 0xff), static_cast<uint8_t>(tensor->id >> 8)};
}
// The id of a tensor in the memory of a device, by its number in this process (devices/devices.h); 0 is the host. Code
// that accesses the host's memory compares ids, and so refuses tensors that are elsewhere.
inline uint32_t tensor_id(DType t, uint32_t device) { return dtype_id(t) | device << 16; }
inline uint32_t device_of(const Object* tensor) { return tensor->id >> 16; }
inline TensorObject* as_tensor(Object* o) { return static_cast<TensorObject*>(o); }
inline const TensorObject* as_tensor(const Object* o) { return static_cast<const TensorObject*>(o); }
// The fields of a tuple, data value or closure.
inline Object** fields(Object* o) { return reinterpret_cast<Object**>(o + 1); }
inline Object* const* fields(const Object* o) { return reinterpret_cast<Object* const*>(o + 1); }

// The makers return an object with count 1, or null if memory is exhausted (and then do not take ownership). Fields are
// moved in.
Object* make_object(ObjectKind kind, uint32_t id, uint16_t tag, std::span<Object* const> fields);
// Uninitialised. `bytes` matches the shape and dtype.
TensorObject* make_tensor(uint32_t dtype, std::span<const int64_t> dims, size_t bytes);
// The same in the memory of the device that `id` names, not the host.
TensorObject* make_device_tensor(uint32_t id, std::span<const int64_t> dims, size_t bytes);
// A Row without data.
TensorObject* make_row(uint32_t dtype, std::span<const int64_t> dims);
Object* share_tensor(const Tensor& tensor);
// Copies the data of a Shared tensor into memory of its own. Nothing else may read it meanwhile. False if memory is
// exhausted.
bool keep_own_copy(TensorObject* t);
// Returns the same value with repeated tensors replaced by copies, so that no tensor occurs twice among the fields of
// this tuple and of tuples in it. Beyond 4,096 fields or 64 levels, and in lists and functions, tensors may repeat.
// Takes over one count of `o`. Returns null if memory is exhausted.
Object* with_own_tensors(Object* o);

inline Object* retain(Object* o) {
  o->count.fetch_add(1, std::memory_order_relaxed);
  return o;
}
void destroy(Object* o);  // its count is 0; in destroy.cpp
inline void release(Object* o) {
  // The holder of the only value need not synchronise with others.
  if (o->count.load(std::memory_order_acquire) == 1 || o->count.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(o);
}
inline bool is_unique(const Object* o) { return o->count.load(std::memory_order_acquire) == 1; }

// A description of an object for messages: "a tensor of float32", "a value of type List".
std::string describe(const Object* object);

}  // namespace relay::runtime
