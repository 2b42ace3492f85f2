#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/printable.h"

namespace corral::cli {
namespace {

constexpr size_t kGap = 2;

const char* sequence(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::strong:
      return "\033[1m";
    case Style::good:
      return "\033[32m";
    case Style::warning:
      return "\033[33m";
    case Style::bad:
      return "\033[31m";
    case Style::faint:
      return "\033[2m";
  }
  return "";
}

}  // namespace

std::string styled(std::string_view text, Style style) {
  if (style == Style::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\033[0m", sequence(style), text);
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  for (Cell& cell : row) cell.text = cell.text.empty() ? "-" : printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<size_t> Table::widths(const Format& format, bool titles) const {
  std::vector<size_t> widths;
  size_t total = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = titles ? columns(columns_[i].title) : 0;
    for (const auto& row : rows_) width = std::max(width, columns(row[i].text));
    widths.push_back(width);
    total += width + (i == 0 ? 0 : kGap);
  }
  for (size_t i = 0; i < columns_.size() && format.width != 0; ++i) {
    if (!columns_[i].shrinks || total <= format.width || widths[i] <= kNarrowest) continue;
    const size_t give = std::min(total - format.width, widths[i] - kNarrowest);
    widths[i] -= give;
    total -= give;
  }
  return widths;
}

std::string Table::line(const std::vector<Cell>& row, const std::vector<size_t>& widths,
                        const Format& format) const {
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const size_t gap = i == 0 ? 0 : kGap;
    if (format.width != 0 && used + gap >= format.width) break;
    size_t room = widths[i];
    if (format.width != 0) room = std::min(room, format.width - used - gap);
    const std::string text = fitted(row[i].text, room);
    const std::string blanks(room - columns(text), ' ');
    const std::string shown = format.colour ? styled(text, row[i].style) : text;
    const bool last = i + 1 == row.size();
    out += std::string(gap, ' ');
    out += columns_[i].right ? blanks + shown : last ? shown : shown + blanks;
    used += gap + room;
  }
  return out + "\n";
}

std::string Table::text(const Format& format, bool titles) const {
  if (rows_.empty()) return "";
  const std::vector<size_t> room = widths(format, titles);
  std::string out;
  if (titles) {
    std::vector<Cell> header;
    for (const Column& column : columns_) header.push_back({column.title, Style::strong});
    out += line(header, room, format);
  }
  for (const auto& row : rows_) out += line(row, room, format);
  return out;
}

}  // namespace corral::cli
