#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::cli {

// The file that --report names. What is there stays as it is until a whole report takes its place:
//  - A regular file, or a name that is free: written beside it and renamed into place (rename(2)),
//    with the owner and the permissions of the old one, if we may. Where its directory or its file
//    system will not have that, the old one is written over.
//  - Anything else (a FIFO, a device, a symbolic link): opened at once, and written to. So is what
//    this process has as standard output or standard error: what others write there is not lost.
class ReportFile {
 public:
  // Finds out whether it can be written; waits for the reader of a FIFO. "open FILE: …" otherwise.
  static Result<ReportFile> open(const std::string& path);

  // To be called once.
  Result<void> write(std::string_view text) const;

 private:
  explicit ReportFile(std::string path) : path_(std::move(path)) {}
  Result<void> open_directory();
  Result<void> write_over(std::string_view text) const;
  Result<void> put_in_place(std::string_view text) const;

  std::string path_;             // for messages, and where it is written over
  std::string name_;             // in directory_
  UniqueFd directory_, direct_;  // one of both
  bool shared_ = false;          // direct_ is a stream that others write to, too
};

}  // namespace corral::cli
