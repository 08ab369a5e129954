// Values of programs: counted pointers to immutable objects (object.h).
//
//   TypeId list = intern_type({"List", {{"Nil", 0}, {"Cons", 2}}});
//   Value v = Value::data(list, 1, {Value::tensor(x), Value::data(list, 0, {})});    // Cons(x, Nil)
//   v.field(0).tensor();                                                             // x, not copied
//
// Values may be copied and dropped from any thread.
#pragma once

#include "relay/runtime/functions/object.h"

namespace relay::runtime {

class Value {
 public:
  Value() = default;                            // no value; !value
  static Value tensor(const Tensor& tensor);    // shares its memory
  static Value constant(const Tensor& tensor);  // the same, for a program's constant
  static Value donated(const Tensor& tensor);   // the same, for memory that may be overwritten
  static Value tuple(std::vector<Value> fields);
  static Value data(TypeId type, uint32_t tag, std::vector<Value> fields);
  // By name; wrong_input lists the alternatives if there is no such constructor or it takes another number of fields.
  static Result<Value> data(TypeId type, std::string_view constructor, std::vector<Value> fields);
  static Value reference(Value content);

  static Value take(Object* o) { return Value(o); }  // takes ownership of one count
  static Value share(const Object* o) { return Value(retain(const_cast<Object*>(o))); }
  Object* get() const { return object_; }
  Object* detach() { return std::exchange(object_, nullptr); }

  Value(const Value& other) : object_(other.object_ ? retain(other.object_) : nullptr) {}
  Value(Value&& other) noexcept : object_(other.detach()) {}
  Value& operator=(Value other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Value() {
    if (object_) release(object_);
  }
  explicit operator bool() const { return object_ != nullptr; }

  ObjectKind kind() const { return object_->kind; }
  bool is_tensor() const { return kind() == ObjectKind::Tensor; }
  Tensor tensor() const;  // for a tensor: a view that keeps it alive
  // For a tuple or data value (for a closure: its captured values).
  size_t size() const { return object_->size; }
  Value field(size_t i) const { return share(fields(object_)[i]); }
  // For a data value.
  TypeId type() const { return object_->id; }
  uint32_t tag() const { return object_->tag; }
  const std::string& constructor() const { return data_type(object_->id).constructors[object_->tag].name; }
  // For a reference.
  Value content() const;

 private:
  explicit Value(Object* o) : object_(o) {}
  Object* object_ = nullptr;
};

// "Cons(1.5, Cons(2, Nil))", "(Tensor[(2, 3), float32] [1, 2, ...], fn)"; at most `limit` objects, then "...".
std::string str(const Value& value, size_t limit = 1000);
// Bitwise equal tensors in equal structures; closures and references equal only themselves.
bool equal(const Value& a, const Value& b);

}  // namespace relay::runtime
