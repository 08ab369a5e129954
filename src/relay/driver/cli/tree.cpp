#include "relay/driver/cli/tree.h"

#include <algorithm>

#include "relay/base/printable.h"
#include "relay/driver/version.h"

namespace relay::cli {

namespace {
struct Choice {
  std::vector<std::string> names;   // "-o", "--output"; empty for a positional one
  std::string position;             // "MODEL"
  std::string help, type;           // "FILE"
  std::vector<std::string> values;  // the only valid values, if limited
  bool flag = false;
};
}  // namespace

static std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> out = app.get_subcommands([](const CLI::App*) { return true; });
  return out;
}

static std::vector<Choice> choices_of(const CLI::App& verb) {
  std::vector<Choice> out;
  for (const CLI::Option* option : verb.get_options()) {
    Choice one;
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    if (one.names.empty()) one.position = option->get_name(true);
    one.help = option->get_description();
    one.type = option->get_type_name();
    one.flag = option->get_items_expected_max() == 0;
    // "TEXT:{graph,vm}" is CLI::IsMember's text for a type.
    size_t begin = one.type.find(":{"), end = one.type.rfind('}');
    if (begin != std::string::npos && end != std::string::npos)
      for (std::string_view value : split(std::string_view(one.type).substr(begin + 2, end - begin - 2), ','))
        one.values.emplace_back(value);
    one.type = one.type.substr(0, one.type.find(':'));
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> out;
  for (const Choice& one : choices_of(verb)) out.insert(out.end(), one.names.begin(), one.names.end());
  return out;
}

static std::vector<std::string> names_of(const std::vector<const CLI::App*>& verbs) {
  std::vector<std::string> out;
  for (const CLI::App* verb : verbs) out.push_back(verb->get_name());
  return out;
}

// Text that a shell does not interpret, between single quotation marks.
static std::string escaped(std::string_view text, std::string_view special, std::string_view quotation) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += quotation;
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// --- shells ----------------------------------------------------------------------------------------------------------
std::string bash_completion(const CLI::App& app) {
  std::vector<const CLI::App*> verbs = verbs_of(app);
  std::string values, words;
  auto add = [&](const CLI::App& verb, const std::string& name) {
    std::vector<std::string> options = names_of(verbs_of(verb)), positions;
    for (const Choice& one : choices_of(verb)) {
      options.insert(options.end(), one.names.begin(), one.names.end());
      if (one.names.empty()) positions.insert(positions.end(), one.values.begin(), one.values.end());
      if (one.values.empty()) continue;
      for (const std::string& option : one.names)
        values += format("    '{} {}') COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", name, option,
                         join(one.values, " "));
    }
    options.insert(options.end(), positions.begin(), positions.end());
    words += format("    '{}') words='{}' files={} ;;\n", name, join(options, " "),
                    positions.empty() && verbs_of(verb).empty() ? 1 : 0);
  };
  add(app, "");
  for (const CLI::App* verb : verbs) add(*verb, verb->get_name());
  return format(
      "# Completion for bash: eval \"$(relay completion bash)\"\n"
      "_relay() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb= words= files=1 i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${{COMP_WORDS[i]}} in {}) verb=${{COMP_WORDS[i]}}; break ;; esac\n"
      "  done\n"
      "  case \"$verb $prev\" in\n{}  esac\n"
      "  case $verb in\n{}  esac\n"
      "  if [[ $cur == -* || $files == 0 ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _relay relay\n",
      join(names_of(verbs), "|"), values, words);
}

std::string zsh_completion(const CLI::App& app) {
  auto quoted = [](std::string_view text) { return escaped(text, "[]:\\", "'\\''"); };
  auto arguments = [&](const CLI::App& verb) {
    std::string out;
    for (const Choice& one : choices_of(verb)) {
      std::string action = !one.values.empty() ? format("({})", join(one.values, " ")) : "_files";
      if (one.names.empty()) out += format(" \\\n        '*:{}:{}'", quoted(one.position), action);
      for (const std::string& name : one.names)
        out += format(" \\\n        '*{}[{}]{}'", name, quoted(one.help),
                      one.flag ? "" : format(":{}:{}", quoted(one.type), action));
    }
    std::vector<std::string> inner = names_of(verbs_of(verb));
    if (!inner.empty()) out += format(" \\\n        '1:verb:({})'", join(inner, " "));
    return out;
  };
  std::string verbs, cases;
  for (const CLI::App* verb : verbs_of(app)) {
    verbs += format("    '{}:{}'\n", verb->get_name(), quoted(verb->get_description()));
    cases += format("      {}) _arguments{} ;;\n", verb->get_name(), arguments(*verb));
  }
  return format(
      "#compdef relay\n"
      "# Completion for zsh: source <(relay completion zsh), or as _relay in a folder of $fpath\n"
      "_relay() {{\n"
      "  local context state line\n"
      "  local -a verbs\n"
      "  verbs=(\n{}  )\n"
      "  _arguments -C '(-h --help)'{{-h,--help}}'[Print help]' '--version[Print the version]' '1:verb:->verb' "
      "'*::argument:->argument'\n"
      "  case $state in\n"
      "    verb) _describe verb verbs ;;\n"
      "    argument) case $words[1] in\n{}      esac ;;\n"
      "  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _relay ]; then _relay \"$@\"; else compdef _relay relay; fi\n",
      verbs, cases);
}

std::string fish_completion(const CLI::App& app) {
  auto quoted = [](std::string_view text) { return escaped(text, "\\", "\\'"); };
  std::string out = "# Completion for fish: relay completion fish | source\ncomplete -c relay -f\n";
  auto add = [&](const CLI::App& verb, const std::string& when) {
    for (const Choice& one : choices_of(verb)) {
      std::string line = format("complete -c relay -n '{}'", when);
      for (const std::string& name : one.names)
        line += name.size() == 2 ? format(" -s {}", name.substr(1)) : format(" -l {}", name.substr(2));
      if (!one.values.empty())
        line += format(" -x -a '{}'", join(one.values, " "));
      else if (one.names.empty())
        line += " -F";
      else if (!one.flag)
        line += " -r -F";
      out += format("{} -d '{}'\n", line, quoted(one.help));
    }
  };
  add(app, "__fish_use_subcommand");
  for (const CLI::App* verb : verbs_of(app)) {
    out += format("complete -c relay -n __fish_use_subcommand -a {} -d '{}'\n", verb->get_name(),
                  quoted(verb->get_description()));
    add(*verb, format("__fish_seen_subcommand_from {}", verb->get_name()));
    for (const CLI::App* inner : verbs_of(*verb))
      out += format("complete -c relay -n '__fish_seen_subcommand_from {}' -a {} -d '{}'\n", verb->get_name(),
                    inner->get_name(), quoted(inner->get_description()));
  }
  return out;
}

// --- the man page ----------------------------------------------------------------------------------------------------
static std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool line_begins = out.empty() || out.back() == '\n';
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

static std::string man_options(const CLI::App& verb) {
  std::string out;
  for (const Choice& one : choices_of(verb)) {
    std::string head = one.names.empty() ? one.position : format("{}", join(one.names, ", "));
    out += format(".TP\n\\fB{}\\fR{}\n{}{}\n", roff(head), one.flag ? "" : format(" \\fI{}\\fR", roff(one.type)),
                  roff(one.help), one.values.empty() ? "" : roff(format(": {}", join(one.values, ", "))));
  }
  return out;
}

std::string man_page(const CLI::App& app) {
  std::string out = format(".TH RELAY 1 \"\" \"relay {}\" \"User Commands\"\n", version);
  out += ".SH NAME\nrelay \\- a compiler for deep\\-learning models\n";
  out += ".SH SYNOPSIS\n.B relay\n\\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIMODEL\\fR]\n";
  out += format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}.SH VERBS\n", roff(app.get_description()), man_options(app));
  for (const CLI::App* verb : verbs_of(app)) {
    out += format(".SS relay {}\n{}\n{}", roff(verb->get_name()), roff(verb->get_description()), man_options(*verb));
    for (const CLI::App* inner : verbs_of(*verb))
      out += format(".TP\n\\fB{}\\fR\n{}\n", roff(inner->get_name()), roff(inner->get_description()));
    out += format(".PP\n.nf\n{}\n.fi\n", roff(verb->get_footer()));
  }
  return out +
         ".SH EXIT STATUS\n0: success. 1: an error, described on stderr. 2: a wrong command line. 70: a bug in\n"
         "Relay. 130: ended by Ctrl\\-C.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n\\fBRELAY_CACHE\\fR\nThe folder of compiled models, or off\n"
         ".TP\n\\fBRELAY_CACHE_SIZE\\fR\nThe maximum size of this folder: 8G\n"
         ".TP\n\\fBRELAY_THREADS\\fR\nThe default number of threads of a run\n"
         ".TP\n\\fBNO_COLOR\\fR\nIf set, no colours, even on a terminal\n";
}

Result<const CLI::App*> find_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    std::vector<const CLI::App*> verbs = verbs_of(*at);
    std::vector<std::string> names = names_of(verbs);
    size_t place = static_cast<size_t>(std::find(names.begin(), names.end(), word) - names.begin());
    if (place == names.size()) {
      std::optional<std::string> near = nearest(word, names);
      return Diagnostic{DiagnosticKind::bad_option,
                        format("unknown command '{}'", shortened(word)),
                        {},
                        {},
                        {},
                        near            ? format("did you mean '{}'?", *near)
                        : names.empty() ? format("relay {} has no commands of its own", at->get_name())
                                        : format("the commands are: {}", join(names, ", "))};
    }
    at = verbs[place];
  }
  return at;
}

}  // namespace relay::cli
