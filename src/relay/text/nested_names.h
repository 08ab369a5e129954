// Names in nested scopes: an inner scope hides the names of outer ones. Lookup takes constant time at any depth.
//
//   names.open();  names.declare("n", value);  names.find("n");  names.close();
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace relay::text {

template <class T>
class NestedNames {
 public:
  void open() { marks_.push_back(declared_.size()); }
  void close() {
    for (; declared_.size() > marks_.back(); declared_.pop_back()) values_[declared_.back()].pop_back();
    marks_.pop_back();
  }
  void close_all() {
    while (!marks_.empty()) close();
  }
  void declare(const std::string& name, T value) {
    values_[name].push_back(std::move(value));
    declared_.push_back(name);
  }
  const T* find(const std::string& name) const {
    auto found = values_.find(name);
    return found == values_.end() || found->second.empty() ? nullptr : &found->second.back();
  }
  const std::vector<std::string>& names() const { return declared_; }  // of all open scopes, outer ones first

 private:
  std::unordered_map<std::string, std::vector<T>> values_;
  std::vector<std::string> declared_;
  std::vector<size_t> marks_;
};

}  // namespace relay::text
