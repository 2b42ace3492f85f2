#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

// How a piece of text stands out; plain where there are no colours.
enum class Style { plain, strong, good, warning, bad, faint };
// The text between the escape sequences of the style; as it is for plain.
std::string styled(std::string_view text, Style style);

struct Cell {
  std::string text;
  Style style = Style::plain;
};

struct Column {
  std::string title;
  bool right = false;    // aligned to the right: figures
  bool shrinks = false;  // gives room first when a line does not fit
};

// What a terminal, or the lack of one, allows.
struct Format {
  size_t width = 0;  // columns of the terminal; 0: no terminal, no limit
  bool colour = false;
};

// Rows below titles, two blanks between columns. Text is made printable; empty cells show as "-".
// No rows, no titles. Where a line is wider than the terminal, columns that shrink do so down to
// kNarrowest, and then the line is cut with … at its end.
class Table {
 public:
  static constexpr size_t kNarrowest = 12;

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row);
  size_t size() const { return rows_.size(); }
  // Every line ends in a newline.
  std::string text(const Format& format, bool titles = true) const;

 private:
  std::vector<size_t> widths(const Format& format, bool titles) const;
  std::string line(const std::vector<Cell>& row, const std::vector<size_t>& widths,
                   const Format& format) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace corral::cli
