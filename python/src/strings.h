// std::string as str, with any bytes: names of a model need not be UTF-8. Invalid bytes become lone surrogates
// ("surrogateescape", as in file names), and are restored on the way back. Replaces nanobind/stl/string.h.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(src.ptr())) return false;
    Py_ssize_t size = 0;
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(src.ptr(), &size)) {
      value.assign(utf8, static_cast<size_t>(size));
      return true;
    }
    PyErr_Clear();
    object bytes = steal(PyUnicode_AsEncodedString(src.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      return false;
    }
    value.assign(PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr())));
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  }
};

}  // namespace nanobind::detail
