#include <cstdlib>
#include <cstring>

#include "relay/runtime/devices/device.h"
#include "relay/runtime/functions/object.h"
#include "relay/runtime/functions/references.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

void destroy(Object* first) {
  // The work list is linked through the first eight bytes of dead objects.
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
        if (t->tag == TensorObject::OnDevice) t->on->free(t->data);
        if (t->is_shared() || t->tag == TensorObject::Donated) delete t->owner;
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

}  // namespace relay::runtime
