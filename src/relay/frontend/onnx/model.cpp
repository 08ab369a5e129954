// Reading onnx.proto. Each function reads only one message; field numbers are those of onnx.proto.
#include "relay/frontend/onnx/model.h"

#include <algorithm>
#include <cctype>

#include "relay/frontend/common/wire.h"

namespace relay::onnx {

using frontend::DimInfo;
using frontend::MappedFile;
using frontend::Wire;
using frontend::WireError;

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

const Function* Model::function_of(const Node& node) const {
  if (functions.empty()) return nullptr;
  auto found = function_places.find({node.domain, node.op, node.overload});
  return found == function_places.end() ? nullptr : &functions[found->second];
}

const char* kind_name(const AttributeValue& value) {
  static const char* const names[] = {"unknown", "float",  "int",  "string",  "tensor",
                                      "graph",   "floats", "ints", "strings", "sparse tensor"};
  return names[value.index()];
}

namespace {

using Form = frontend::TensorInfo::Form;

struct Reader {
  frontend::WireLimits limits{max_items, "nodes, attributes and tensors", max_depth, "graphs"};

  TensorData tensor(std::string_view message);
  SparseData sparse(std::string_view message);
  Attribute attribute(std::string_view message, int depth);
  Node node(std::string_view message, int depth);
  ValueInfo value_info(std::string_view message);
  Form type(std::string_view message, ValueInfo& info, int depth);
  std::vector<DimInfo> shape(std::string_view message);
  Graph graph(std::string_view message, int depth);
  Function function(std::string_view message);
  void opset(std::string_view message, std::map<std::string_view, int64_t>& opsets);
  void model(Model& m);
};

std::pair<std::string_view, std::string_view> key_value(std::string_view message) {
  std::pair<std::string_view, std::string_view> entry;
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      entry.first = w.bytes();
    else if (w.field() == 2)
      entry.second = w.bytes();
    else
      w.skip();
  }
  return entry;
}

TensorData Reader::tensor(std::string_view message) {
  TensorData t;
  t.message = message;
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: w.append_ints(t.dims, max_rank, "dimensions of a tensor"); break;
      case 2: t.type = static_cast<int32_t>(w.integer()); break;
      case 8: t.name = w.bytes(); break;
      case 9: t.raw = w.bytes(), t.has_raw = true; break;
      case 13:
        if (t.external.size() >= 16)
          throw WireError{DiagnosticKind::limit_exceeded, w.position(), "more than 16 entries of external data"};
        t.external.insert(key_value(w.bytes()));
        break;
      case 14: t.is_external = w.integer() == 1; break;
      default: w.skip();
    }
  }
  return t;
}

SparseData Reader::sparse(std::string_view message) {
  SparseData s;
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: s.values = tensor(w.bytes()); break;
      case 2: s.indices = tensor(w.bytes()); break;
      case 3: w.append_ints(s.dims, max_rank, "dimensions of a tensor"); break;
      default: w.skip();
    }
  }
  return s;
}

Attribute Reader::attribute(std::string_view message, int depth) {
  Attribute a;
  int64_t type = 0;
  // Turns `value` into a T (keeping the elements of a repeated field so far).
  auto value = [&]<class T>(T*) -> T& {
    if (!std::holds_alternative<T>(a.value)) a.value.emplace<T>();
    return std::get<T>(a.value);
  };
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: a.name = w.bytes(); break;
      case 2: a.value = w.float32(); break;
      case 3: a.value = w.integer(); break;
      case 4: a.value = w.bytes(); break;
      case 5: a.value = std::make_shared<const TensorData>(tensor(w.bytes())); break;
      case 6: a.value = std::make_shared<const Graph>(graph(w.bytes(), limits.inside(w, depth))); break;
      case 7: w.append_floats(value(static_cast<std::vector<float>*>(nullptr))); break;
      case 8: w.append_ints(value(static_cast<std::vector<int64_t>*>(nullptr))); break;
      case 9: value(static_cast<std::vector<std::string_view>*>(nullptr)).push_back(w.bytes()); break;
      case 20: type = w.integer(); break;
      case 21: a.ref = w.bytes(); break;
      case 22: a.value = std::make_shared<const SparseData>(sparse(w.bytes())); break;
      default: w.skip();
    }
  }
  // Writers omit zero or empty values; the type determines them.
  if (a.value.index() == 0) {
    switch (type) {
      case 1: a.value = 0.0f; break;
      case 2: a.value = int64_t{0}; break;
      case 3: a.value = std::string_view(); break;
      case 6: a.value = std::vector<float>(); break;
      case 7: a.value = std::vector<int64_t>(); break;
      case 8: a.value = std::vector<std::string_view>(); break;
      default: break;
    }
  }
  return a;
}

Node Reader::node(std::string_view message, int depth) {
  Node n;
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: n.inputs.push_back(w.bytes()); break;
      case 2: n.outputs.push_back(w.bytes()); break;
      case 3: n.name = w.bytes(); break;
      case 4: n.op = w.bytes(); break;
      case 5:
        limits.count(w);
        n.attributes.push_back(attribute(w.bytes(), depth));
        break;
      case 7: n.domain = w.bytes(); break;
      case 8: n.overload = w.bytes(); break;
      default: w.skip();
    }
  }
  if (n.domain == "ai.onnx") n.domain = "";
  return n;
}

// "?" and "-1" are written for unknown sizes; several in one shape are different sizes.
bool names_something(std::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c >= 0x80; });
}

std::vector<DimInfo> Reader::shape(std::string_view message) {
  std::vector<DimInfo> dims;
  for (Wire w(message); w.next();) {
    if (w.field() != 1) {
      w.skip();
      continue;
    }
    if (dims.size() >= max_rank)
      throw WireError{DiagnosticKind::limit_exceeded, w.position(),
                      format("a shape has more than {} dimensions", max_rank)};
    DimInfo& dim = dims.emplace_back();
    for (Wire d(w.bytes()); d.next();) {
      if (d.field() == 1)
        dim.value = d.integer();
      else if (d.field() == 2)
        dim.name = d.bytes();
      else
        d.skip();
    }
    if (!names_something(dim.name)) dim.name = {};
  }
  return dims;
}

// The type of the elements of a sequence or an optional value.
std::string_view held_type(std::string_view message) {
  std::string_view held;
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      held = w.bytes();
    else
      w.skip();
  }
  return held;
}

// `depth`: of the sequences and optional values around it. An optional sequence of tensors is the deepest that is read.
Form Reader::type(std::string_view message, ValueInfo& info, int depth) {
  Form form = Form::Other;
  for (Wire w(message); w.next();) {
    const uint32_t field = w.field();
    if (field == 5 && depth == 0) {  // a map: the type of its values
      for (Wire m(w.bytes()); m.next();) {
        if (m.field() == 2)
          info.is_map = type(m.bytes(), info, depth + 1) == Form::Tensor;
        else
          m.skip();
      }
      form = Form::Other;
      continue;
    }
    if ((field == 4 || field == 9) && depth < 2) {
      const Form held = type(held_type(w.bytes()), info, depth + 1);
      form = Form::Other;
      if (held == Form::Tensor) form = field == 4 ? Form::Sequence : Form::Optional;
      if (held == Form::Sequence && field == 9) form = Form::OptionalSequence;
      continue;
    }
    if (field != 1) {
      w.skip();
      continue;
    }
    form = Form::Tensor;
    for (Wire t(w.bytes()); t.next();) {
      if (t.field() == 1)
        info.type = static_cast<int32_t>(t.integer());
      else if (t.field() == 2)
        info.shape = shape(t.bytes());
      else
        t.skip();
    }
  }
  return form;
}

ValueInfo Reader::value_info(std::string_view message) {
  ValueInfo info;
  for (Wire w(message); w.next();) {
    if (w.field() == 1)
      info.name = w.bytes();
    else if (w.field() == 2)
      info.form = type(w.bytes(), info, 0);
    else
      w.skip();
  }
  return info;
}

Graph Reader::graph(std::string_view message, int depth) {
  Graph g;
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: limits.count(w), g.nodes.push_back(node(w.bytes(), depth)); break;
      case 2: g.name = w.bytes(); break;
      case 5: limits.count(w), g.initializers.push_back(tensor(w.bytes())); break;
      case 11: limits.count(w), g.inputs.push_back(value_info(w.bytes())); break;
      case 12: limits.count(w), g.outputs.push_back(value_info(w.bytes())); break;
      case 13: limits.count(w), g.values.push_back(value_info(w.bytes())); break;
      case 15: limits.count(w), g.sparse_initializers.push_back(sparse(w.bytes())); break;
      default: w.skip();
    }
  }
  return g;
}

void Reader::opset(std::string_view message, std::map<std::string_view, int64_t>& opsets) {
  std::string_view domain;
  int64_t version = 0;
  for (Wire s(message); s.next();) {
    if (s.field() == 1)
      domain = s.bytes();
    else if (s.field() == 2)
      version = s.integer();
    else
      s.skip();
  }
  opsets[domain == "ai.onnx" ? "" : domain] = version;
}

Function Reader::function(std::string_view message) {
  Function f;
  for (Wire w(message); w.next();) {
    switch (w.field()) {
      case 1: f.name = w.bytes(); break;
      case 4: limits.count(w), f.inputs.push_back(w.bytes()); break;
      case 5: limits.count(w), f.outputs.push_back(w.bytes()); break;
      case 6: limits.count(w), f.attributes.push_back(w.bytes()); break;
      case 7: limits.count(w), f.graph.nodes.push_back(node(w.bytes(), 0)); break;
      case 9: limits.count(w), opset(w.bytes(), f.opsets); break;
      case 10: f.domain = w.bytes(); break;
      case 11: limits.count(w), f.defaults.push_back(attribute(w.bytes(), 0)); break;
      case 13: f.overload = w.bytes(); break;
      default: w.skip();
    }
  }
  if (f.domain == "ai.onnx") f.domain = "";
  f.graph.name = f.name;
  return f;
}

void Reader::model(Model& m) {
  bool has_graph = false;
  Wire w(m.file->bytes());
  while (w.next()) {
    switch (w.field()) {
      case 1: m.ir_version = w.integer(); break;
      case 2: m.producer = w.bytes(); break;
      case 3: m.producer_version = w.bytes(); break;
      case 7: m.graph = graph(w.bytes(), 0), has_graph = true; break;
      case 8:
        limits.count(w);
        opset(w.bytes(), m.opsets);
        break;
      case 25: {
        limits.count(w);
        Function f = function(w.bytes());
        m.function_places.emplace(std::array{f.domain, f.name, f.overload}, m.functions.size());
        m.functions.push_back(std::move(f));
        break;
      }
      default: w.skip();
    }
  }
  if (!has_graph) throw WireError{DiagnosticKind::corrupt_file, w.position(), "it contains no graph"};
}

}  // namespace

Result<Model> read_model(const std::string& path, const std::string& content) {
  Model m;
  m.path = path;
  m.external_files = frontend::ExternalFiles(path);
  RELAY_ASSIGN(m.file, MappedFile::open(content.empty() ? path : content,
                                        "check the path; an ONNX model is one file that ends in .onnx"));
  try {
    Reader().model(m);
  } catch (const WireError& e) {
    return frontend::unreadable(path, m.file->bytes(), e, "an ONNX model",
                                "check that the file was copied or downloaded completely, and that it is an ONNX file");
  }
  return m;
}

}  // namespace relay::onnx
