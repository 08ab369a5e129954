// Nodes of the compiler as Python objects. A Python object refers to one node and counts as one of its owners; as long
// as it lives, every access to the node returns the same object, so `a is b` and hash(a) are identity of nodes:
//
//   call.args[0] is call.args[0]
//
// An expression may also be passed as any object with a method __relay_expr__() (relay.TupleWrapper).
#pragma once

#include <nanobind/nanobind.h>

#include "relay/ir/expr.h"

namespace relay::python {
// The classes of patterns in Python; C++ has one struct for all.
struct PatternWildcard : ir::PatternNode {};
struct PatternVar : ir::PatternNode {};
struct PatternConstructor : ir::PatternNode {};
struct PatternTuple : ir::PatternNode {};
}  // namespace relay::python

namespace nanobind::detail {

template <>
struct type_hook<relay::ir::PatternNode> {
  static const std::type_info* get(const relay::ir::PatternNode* p) {
    if (!p) return &typeid(relay::ir::PatternNode);
    switch (p->kind) {
      case relay::ir::PatternKind::Wildcard: return &typeid(relay::python::PatternWildcard);
      case relay::ir::PatternKind::Var: return &typeid(relay::python::PatternVar);
      case relay::ir::PatternKind::Constructor: return &typeid(relay::python::PatternConstructor);
      case relay::ir::PatternKind::Tuple: return &typeid(relay::python::PatternTuple);
    }
    return &typeid(relay::ir::PatternNode);
  }
};

template <class T>
struct type_caster<relay::Ref<const T>> {
  static constexpr bool IsClass = true;
  using Caster = make_caster<T>;
  NB_TYPE_CASTER(relay::Ref<const T>, Caster::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    if (source.is_none()) return false;  // there are no null nodes in Python
    Caster caster;
    if (caster.from_python(source, flags & ~cast_flags::convert, cleanup)) {
      value = relay::Ref<const T>(caster.operator T*());
      return true;
    }
    if constexpr (std::is_same_v<T, relay::ir::ExprNode>) {
      PyObject* stands_for = PyObject_CallMethod(source.ptr(), "__relay_expr__", nullptr);
      if (!stands_for) {
        PyErr_Clear();
        return false;
      }
      Caster inner;
      bool ok = inner.from_python(stands_for, flags & ~cast_flags::convert, cleanup);
      if (ok) value = relay::Ref<const T>(inner.operator T*());
      Py_DECREF(stands_for);
      return ok && value;
    }
    return false;
  }

  static handle from_cpp(const relay::Ref<const T>& ref, rv_policy, cleanup_list* cleanup) noexcept {
    T* pointer = const_cast<T*>(ref.get());
    const std::type_info* type = &typeid(T);
    const std::type_info* dynamic_type = nullptr;
    if constexpr (!std::is_base_of_v<std::false_type, type_hook<T>>)
      type = type_hook<T>::get(pointer);
    else if (pointer)
      dynamic_type = &typeid(*pointer);
    bool is_new = false;
    handle result =
        NB_CALL(nb_type_put)(NB_CTX_C(cleanup), type, dynamic_type, pointer, rv_policy::reference, cleanup, &is_new);
    if (is_new) {
      pointer->retain();
      NB_CALL(keep_alive_ptr)
      (NB_CTX, result.ptr(), static_cast<relay::Counted*>(pointer),
       [](void* node) noexcept { static_cast<relay::Counted*>(node)->release(); });
    }
    return result;
  }
};

}  // namespace nanobind::detail
