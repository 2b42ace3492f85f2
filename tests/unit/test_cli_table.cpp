#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/escape.h"
#include "base/parse.h"
#include "cli/printable.h"
#include "cli/table.h"

namespace corral::cli {
namespace {

TEST(Printable, LeavesTheServicesEscapesAlone) {
  EXPECT_EQ(printable("ev\\x1b[31mil"), "ev\\x1b[31mil");
  EXPECT_EQ(printable("日本 ok"), "日本 ok");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\033[1mb\n\x7f"), "a\\x1b[1mb\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("\xff"), "\\xff");
}

RC_GTEST_PROP(Printable, HasNoControlCharactersWhateverComes, (const std::string& text)) {
  const std::string out = printable(text);
  RC_ASSERT(std::none_of(out.begin(), out.end(), [](char c) { return c >= 0 && c < ' '; }));
  RC_ASSERT(base::is_utf8(out));
}

TEST(Fitted, CutsWithAnEllipsis) {
  EXPECT_EQ(fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(fitted("abcdef", 5), "abcd…");
  EXPECT_EQ(fitted("äöü", 2), "ä…");
  EXPECT_EQ(fitted("abc", 1), "…");
  EXPECT_EQ(fitted("abc", 0), "");
}

TEST(CommandText, QuotesAsAShellNeedsIt) {
  EXPECT_EQ(command_text({"sh", "-c", "a && b", ""}), "sh -c 'a && b' ''");
  EXPECT_EQ(command_text({"it's"}), "'it'\\''s'");
}

Table sample() {
  Table table({{"ID", false, true}, {"PID", true, false}, {"COMMAND"}});
  table.add({{"r1"}, {"7"}, {"sleep 100"}});
  table.add({{"a-run-with-a-rather-long-name"}, {"12345"}, {""}});
  return table;
}

TEST(Table, IsFullWidthWithoutATerminal) {
  EXPECT_EQ(sample().text({}),
            "ID                               PID  COMMAND\n"
            "r1                                 7  sleep 100\n"
            "a-run-with-a-rather-long-name  12345  -\n");
}

TEST(Table, HasNoTitlesWhereTheyAreNotWanted) {
  EXPECT_EQ(sample().text({}, false).find("PID"), std::string::npos);
}

TEST(Table, ShrinksAColumnBeforeItCutsALine) {
  EXPECT_EQ(sample().text({32, false}),
            "ID                PID  COMMAND\n"
            "r1                  7  sleep 100\n"
            "a-run-with-a-…  12345  -\n");
}

TEST(Table, CutsTheLineWhereNothingShrinksFurther) {
  EXPECT_EQ(sample().text({25, false}),
            "ID              PID  COM…\n"
            "r1                7  sle…\n"
            "a-run-with-…  12345  -\n");
}

TEST(Table, IsNothingWithoutRows) {
  EXPECT_EQ(Table({{"ID"}}).text({}), "");
}

TEST(Table, PassesNoControlCharacter) {
  Table table({{"ID"}, {"NAME"}});
  table.add({{"x"}, {"a\033]0;owned\007b\r\n"}});
  EXPECT_EQ(table.text({}, false), "x  a\\x1b]0;owned\\x07b\\x0d\\x0a\n");
}

TEST(Table, ColoursTextAndNotTheBlanksBesideIt) {
  Table table({{"STATE"}, {"X"}});
  table.add({{"up", Style::good}, {"y"}});
  EXPECT_EQ(table.text({0, true}, false), "\033[32mup\033[0m  y\n");
}

RC_GTEST_PROP(Table, NeverPassesTheWidthOfTheTerminal, (std::vector<std::string> cells)) {
  const auto width = *rc::gen::inRange<size_t>(1, 60);
  Table table({{"A", false, true}, {"LONGTITLE", true, false}, {"C"}});
  for (const std::string& cell : cells) table.add({{cell}, {cell}, {cell}});
  const std::string text = table.text({width, false});
  for (const auto line : base::split(text, '\n')) RC_ASSERT(columns(line) <= width);
}

}  // namespace
}  // namespace corral::cli
