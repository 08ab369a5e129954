#include "relay/lsp/server.h"

#include <algorithm>
#include <deque>
#include <map>

#include "relay/lsp/completion.h"
#include "relay/lsp/describe.h"
#include "relay/lsp/input.h"
#include "relay/lsp/navigation.h"
#include "relay/lsp/views.h"

namespace relay::lsp {

using llvm::json::Array;
using llvm::json::Object;
using llvm::lsp::Callback;
using llvm::lsp::ErrorCode;
using llvm::lsp::LSPError;

namespace {

// The parameters of a message. Absent or wrong members read as empty or 0.
struct Params {
  Object members;

  const Object* object(llvm::StringRef name) const { return members.getObject(name); }
  std::string uri() const {
    const Object* document = object("textDocument");
    return document ? document->getString("uri").value_or("").str() : "";
  }
  static Position position(const Object* from) {
    if (!from) return {};
    auto number = [&](llvm::StringRef name) {
      return static_cast<int>(std::clamp<int64_t>(from->getInteger(name).value_or(0), 0, INT32_MAX));
    };
    return {number("line"), number("character")};
  }
  static Range range(const Object* from) {
    if (!from) return {};
    return {position(from->getObject("start")), position(from->getObject("end"))};
  }
};
bool fromJSON(const Value& value, Params& out, llvm::json::Path) {
  if (const Object* members = value.getAsObject()) out.members = *members;
  return true;
}

llvm::Error refusal(std::string message, ErrorCode code) {
  return llvm::make_error<LSPError>(llvm::json::fixUTF8(message), code);
}

// A text that is open. `document` is unset until this version is needed.
struct OpenText {
  int64_t version = 0;
  std::string text;
  std::unique_ptr<const Document> document;
  bool published = false;
};

class Server {
 public:
  Server(int input, int output)
      : out_(output, false),
        transport_(std::make_unique<Input>(input, [this] { return publish_one(); }), out_),
        handler_(transport_) {
    publish_ = handler_.outgoingNotification<Value>("textDocument/publishDiagnostics");
    register_all();
  }

  int run() {
    if (llvm::Error error = transport_.run(handler_)) llvm::consumeError(std::move(error));
    return shut_down_ ? 0 : 1;
  }

 private:
  using Answer = std::function<Value(const Params&)>;
  using View = std::function<Value(const Document&, const Params&)>;
  using AtOffset = std::function<Value(const Document&, uint32_t)>;

  // A method with its function. Mistakes in the server itself are answered, and it goes on.
  struct Method {
    Answer answer;
    void call(const Params& params, Callback<Value> reply) {
      try {
        reply(answer(params));
      } catch (const CompileError& e) {
        reply(refusal(format("{}. {}", e.diagnostics[0].message, e.diagnostics[0].help), ErrorCode::RequestFailed));
      } catch (const std::exception& e) {
        llvm::lsp::Logger::error("{0}", e.what());
        reply(refusal(e.what(), ErrorCode::InternalError));
      }
    }
    void notify(const Params& params) {
      try {
        answer(params);
      } catch (const std::exception& e) {
        llvm::lsp::Logger::error("{0}", e.what());
      }
    }
  };

  void on_request(llvm::StringLiteral name, Answer answer) {
    handler_.method(name, &methods_.emplace_back(Method{std::move(answer)}), &Method::call);
  }
  void on_notification(llvm::StringLiteral name, std::function<void(const Params&)> act) {
    handler_.notification(name, &methods_.emplace_back(Method{[act = std::move(act)](const Params& params) {
      act(params);
      return Value(nullptr);
    }}),
                          &Method::notify);
  }
  void on_view(llvm::StringLiteral name, View view) {
    on_request(name, [this, view = std::move(view)](const Params& params) {
      const Document* document = document_of(params.uri());
      return document ? view(*document, params) : Value(nullptr);
    });
  }
  void on_place(llvm::StringLiteral name, AtOffset view) {
    on_view(name, [view = std::move(view)](const Document& document, const Params& params) {
      return view(document, document.lines.offset(Params::position(params.object("position"))));
    });
  }

  void register_all();
  Value capabilities() const;
  void open(const Params& params);
  void change(const Params& params);
  void close(const Params& params);
  const Document* document_of(const std::string& uri);
  bool publish_one();

  llvm::raw_fd_ostream out_;
  llvm::lsp::JSONTransport transport_;
  llvm::lsp::MessageHandler handler_;
  llvm::lsp::OutgoingNotification<Value> publish_;
  std::deque<Method> methods_;
  std::map<std::string, OpenText> texts_;  // by URI
  bool shut_down_ = false;
};

Value hover(const Document& document, uint32_t offset) {
  const text::Occurrence* name = document.reading.names.at(offset);
  const std::string text = name ? hover_text(document, *name) : "";
  if (text.empty()) return nullptr;
  llvm::lsp::Hover out(document.lines.range(name->begin, name->end));
  out.contents.value = llvm::json::fixUTF8(text);
  return llvm::lsp::toJSON(out);
}

void Server::register_all() {
  on_request("initialize", [this](const Params&) { return capabilities(); });
  on_request("shutdown", [this](const Params&) {
    shut_down_ = true;
    return Value(nullptr);
  });
  on_notification("textDocument/didOpen", [this](const Params& params) { open(params); });
  on_notification("textDocument/didChange", [this](const Params& params) { change(params); });
  on_notification("textDocument/didClose", [this](const Params& params) { close(params); });
  on_place("textDocument/hover", hover);
  on_place("textDocument/definition", definition);
  on_place("textDocument/documentHighlight", highlights);
  on_place("textDocument/completion", completions);
  on_place("textDocument/signatureHelp", signature_help);
  on_place("textDocument/prepareRename", prepare_rename);
  on_view("textDocument/references", [](const Document& document, const Params& params) {
    const Object* context = params.object("context");
    return references(document, document.lines.offset(Params::position(params.object("position"))),
                      context && context->getBoolean("includeDeclaration").value_or(false));
  });
  on_view("textDocument/rename", [](const Document& document, const Params& params) {
    Result<Value> edit = rename(document, document.lines.offset(Params::position(params.object("position"))),
                                params.members.getString("newName").value_or("").str());
    if (!edit) throw CompileError(edit.errors());
    return *std::move(edit);
  });
  on_view("textDocument/codeAction", [](const Document& document, const Params& params) {
    return fixes(document, Params::range(params.object("range")));
  });
  on_view("textDocument/inlayHint", [](const Document& document, const Params& params) {
    return inlay_hints(document, Params::range(params.object("range")));
  });
  on_view("textDocument/documentSymbol", [](const Document& document, const Params&) { return symbols(document); });
  on_view("textDocument/semanticTokens/full",
          [](const Document& document, const Params&) { return semantic_tokens(document); });
  on_view("textDocument/formatting", [](const Document& document, const Params&) { return formatting(document); });
}

Value Server::capabilities() const {
  constexpr int incremental = 2;  // TextDocumentSyncKind
  return Object{
      {"serverInfo", Object{{"name", "relay"}}},
      {"capabilities", Object{{"positionEncoding", "utf-16"},
                              {"textDocumentSync", Object{{"openClose", true}, {"change", incremental}}},
                              {"hoverProvider", true},
                              {"definitionProvider", true},
                              {"referencesProvider", true},
                              {"documentHighlightProvider", true},
                              {"documentSymbolProvider", true},
                              {"documentFormattingProvider", true},
                              {"inlayHintProvider", true},
                              {"renameProvider", Object{{"prepareProvider", true}}},
                              {"codeActionProvider", Object{{"codeActionKinds", Array{"quickfix"}}}},
                              {"completionProvider", Object{{"triggerCharacters", Array{"%", "@", "."}}}},
                              {"signatureHelpProvider", Object{{"triggerCharacters", Array{"(", ",", "="}}}},
                              {"semanticTokensProvider", Object{{"legend", token_legend()}, {"full", true}}}}}};
}

void Server::open(const Params& params) {
  const Object* item = params.object("textDocument");
  if (!item) return;
  OpenText opened;
  opened.version = item->getInteger("version").value_or(0);
  opened.text = item->getString("text").value_or("").str();
  texts_[params.uri()] = std::move(opened);
}

void Server::change(const Params& params) {
  const auto found = texts_.find(params.uri());
  const Array* changes = params.members.getArray("contentChanges");
  if (found == texts_.end() || !changes) return;
  OpenText& open = found->second;
  for (const Value& value : *changes) {
    const Object* one = value.getAsObject();
    if (!one) continue;
    const std::string text = one->getString("text").value_or("").str();
    const Object* place = one->getObject("range");
    if (!place) {
      open.text = text;
      continue;
    }
    const Lines lines(open.text);
    const Range range = Params::range(place);
    const uint32_t begin = lines.offset(range.start), end = std::max(begin, lines.offset(range.end));
    open.text.replace(begin, end - begin, text);
  }
  const Object* document = params.object("textDocument");
  open.version = (document ? document->getInteger("version") : std::nullopt).value_or(open.version + 1);
  open.document.reset();
  open.published = false;
}

void Server::close(const Params& params) {
  if (texts_.erase(params.uri()))
    publish_(Object{{"uri", params.uri()}, {"diagnostics", Array()}});  // its file may be right
}

const Document* Server::document_of(const std::string& uri) {
  const auto found = texts_.find(uri);
  if (found == texts_.end()) return nullptr;
  OpenText& open = found->second;
  if (!open.document) open.document = std::make_unique<const Document>(uri, open.version, open.text);
  return open.document.get();
}

// Publishes the diagnostics of one text that has changed. True if another one has changed too.
bool Server::publish_one() {
  for (auto& [uri, open] : texts_) {
    if (open.published) continue;
    open.published = true;
    try {
      publish_(diagnostics(*document_of(uri)));
    } catch (const std::exception& e) {
      llvm::lsp::Logger::error("{0}", e.what());
    }
    return true;
  }
  return false;
}

}  // namespace

int serve(int input, int output) { return Server(input, output).run(); }

}  // namespace relay::lsp
