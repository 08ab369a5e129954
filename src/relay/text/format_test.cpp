// The formatter: golden texts (testdata/format), all programs of the repository, comments in every position, the corpus
// of the parser's fuzzer, time.
#include "relay/text/format.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "relay/base/test_golden.h"
#include "relay/ir/rewrite.h"
#include "relay/text/pieces.h"
#include "relay/text/text.h"

namespace relay::text {
namespace {

namespace fs = std::filesystem;
using test::read;

std::shared_ptr<const Source> source_of(std::string text) {
  return std::make_shared<const Source>(Source{"test.relay", std::move(text)});
}

std::string format_of(const std::string& text) {
  Result<std::string> out = formatted(source_of(text));
  EXPECT_TRUE(out) << render(out ? Diagnostics() : out.errors()) << text.substr(0, 2000);
  return out ? *out : "";
}

// The comments of a text, in order, without white space at their ends.
std::vector<std::string> comments_of(const std::string& text) {
  DiagnosticSink sink;
  std::vector<std::string> out;
  for (const Piece& piece : pieces_of(source_of(text), find_metadata(text), sink))
    if (piece.kind == Tok::Comment)
      out.emplace_back(trim(std::string_view(text).substr(piece.begin, piece.end - piece.begin)));
  return out;
}

// Formats, and checks that it means the same, keeps the comments, and is stable.
std::string checked(const std::string& text, const std::string& where) {
  const std::string out = format_of(text);
  EXPECT_EQ(format_of(out), out) << where;
  EXPECT_EQ(comments_of(out), comments_of(text)) << where;
  const Result<ir::Module> before = parse(text), after = parse(out);
  EXPECT_EQ(static_cast<bool>(before), static_cast<bool>(after)) << where;
  if (before && after) EXPECT_TRUE(ir::equal(*before, *after)) << where << "\n" << out;
  return out;
}

struct Program {
  std::string text, where;
};

// The programs of the repository whose syntax is right. Texts of the tests of passes hold several, with lines `# ...`
// between them.
std::vector<Program> all_programs() {
  std::vector<Program> out;
  for (const char* folder : {"src", "examples", "test", "docs"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(RELAY_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".relay") continue;
      const std::string text = read(entry.path());
      std::vector<std::string> parts(1);
      for (std::string_view line : split(text, '\n'))
        if (starts_with(line, "# ")) {
          parts.emplace_back();
        } else {
          parts.back() += std::string(line) + "\n";
        }
      for (const std::string& part : parts)
        if (part.size() > 1 && formatted(source_of(part))) out.push_back({part, entry.path().string()});
    }
  std::sort(out.begin(), out.end(), [](const Program& a, const Program& b) { return a.where < b.where; });
  return out;
}

TEST(Format, golden) {
  const fs::path folder = fs::path(__FILE__).parent_path() / "testdata" / "format";
  for (const fs::path& path : test::programs(folder)) {
    fs::path expected = path;
    test::expect_golden(expected.replace_extension(".formatted"), checked(read(path), path));
  }
}

TEST(Format, all_programs_mean_the_same) {
  const std::vector<Program> programs = all_programs();
  EXPECT_GT(programs.size(), 200u);
  for (const Program& program : programs) checked(program.text, program.where);
}

// Printed programs are formatted, unless a line is too long.
TEST(Format, printed_programs_are_formatted) {
  size_t compared = 0;
  for (const Program& program : all_programs()) {
    const Result<ir::Module> module = parse(program.text);
    if (!module) continue;
    const std::string printed = str(*module);
    const std::vector<std::string_view> lines =
        split(std::string_view(printed).substr(0, find_metadata(printed)), '\n');
    if (std::any_of(lines.begin(), lines.end(), [](std::string_view line) { return line.size() > line_width; }))
      continue;
    EXPECT_EQ(format_of(printed), printed) << program.where;
    ++compared;
  }
  EXPECT_GT(compared, 150u);
}

TEST(Format, lines_are_short) {
  std::string sum = "%x", list = "1";
  for (int i = 0; i < 100; ++i) sum += " + nn.relu(%x)", list += ", " + std::to_string(i);
  const std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 4), float32], %a_long_name: Tensor[(2, 4), "
      "float32]) -> Tensor[(2, 4), float32] { reshape(" +
      sum + ", newshape=[" + list + "]) }";
  const std::string out = checked(text, "long");
  for (std::string_view line : split(out, '\n')) EXPECT_LE(line.size(), line_width) << line;
}

TEST(Format, comments_in_every_position) {
  const std::string text = read(fs::path(RELAY_SOURCE_DIR) / "src/relay/text/testdata/format/everything.relay");
  DiagnosticSink sink;
  const std::vector<Piece> pieces = pieces_of(source_of(text), find_metadata(text), sink);
  std::mt19937 random(7);
  const std::vector<std::string> comments = {" /* a */", " /* a\n   b */ ", " // a\n",
                                             "\n// a\n", "\n/* a */\n",     "\n\n// a\n\n"};
  for (const std::string& comment : comments)
    for (const Piece& piece : pieces)
      checked(std::string(text).insert(piece.begin, comment), format("{} at {}", comment, piece.begin));
  for (int round = 0; round < 300; ++round) {
    std::string changed = text;
    for (size_t i = pieces.size(); i-- > 0;)
      if (random() % 8 == 0) changed.insert(pieces[i].begin, comments[random() % comments.size()]);
    checked(changed, format("round {}", round));
  }
}

// White space in other places.
TEST(Format, any_layout) {
  std::mt19937 random(11);
  for (const auto& [text, where] : all_programs()) {
    const size_t end = find_metadata(text);
    DiagnosticSink sink;
    std::string changed;
    const std::vector<Piece> pieces = pieces_of(source_of(text), end, sink);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const bool line = piece.kind == Tok::Comment && text[piece.begin + 1] == '/';
      const bool in_name = piece.kind == Tok::Dot || (i + 1 < pieces.size() && pieces[i + 1].kind == Tok::Dot);
      static const char* const gaps[] = {" ", "\n", "  \t", "\r\n", "\n\n\n"};
      changed += text.substr(piece.begin, piece.end - piece.begin);
      changed += line ? "\n" : in_name ? "" : gaps[random() % std::size(gaps)];
    }
    checked(changed + "\n" + text.substr(end), where);
  }
}

TEST(Format, corpus_of_the_fuzzer) {
  size_t formatted_count = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(RELAY_SOURCE_DIR) / "test/readers/corpus/relay")) {
    const std::string text = read(entry.path());
    const Result<std::string> out = formatted(source_of(text));
    if (!out) continue;
    ++formatted_count;
    EXPECT_EQ(format_of(*out), *out) << entry.path();
  }
  EXPECT_GT(formatted_count, 0u);
}

TEST(Format, refuses_mistakes_in_syntax_only) {
  EXPECT_FALSE(formatted(source_of("#[version = \"0.0.5\"]\ndef @main( { 1 }\n")));
  EXPECT_FALSE(formatted(source_of("#[version = \"0.0.5\"]\ndef @main() { 1 } /* open\n")));
  EXPECT_TRUE(formatted(source_of("#[version = \"0.0.5\"]\ndef @main() { no_such_operator(%x) }\n")));
}

TEST(Format, nested_a_hundred_thousand_deep) {
  const int deep = 100000;
  const std::string text =
      "#[version = \"0.0.5\"]\ndef @main() { " + std::string(deep, '(') + "1f" + std::string(deep, ')') + " }\n";
  const std::string out = format_of(text);
  EXPECT_EQ(format_of(out), out);
}

TEST(Format, a_hundred_thousand_lines) {
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 4), float32]) {\n";
  for (int i = 0; i < 100000; ++i)
    text += i ? format("  %{} = add(%{}, %x) /* ty=Tensor[(2, 4), float32] */;\n", i, i - 1) : "  %0 = nn.relu(%x);\n";
  text += "  %99999\n}\n";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(format_of(text), text);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_LT(seconds.count(), 5) << "1 s on an idle machine";
}

}  // namespace
}  // namespace relay::text
