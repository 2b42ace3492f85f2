# Prints files and functions that are too long. Relies on the layout that clang-format gives: a
# function ends with a brace in the column where its head began.
#   -v file_max=… -v function_max=…
function finish_file() {
  if (lines > file_max) printf "%s: %d lines, at most %d\n", name, lines, file_max
}
function check(start, indent) {
  length_ = FNR - start + 1
  if (length_ > function_max) printf "%s:%d: a function of %d lines, at most %d\n", FILENAME, start, length_, function_max
}

FNR == 1 {
  if (name != "") finish_file()
  name = FILENAME
  outer = inner = 0
  kind = head = ""
}
{ lines = FNR }
/^(namespace|extern "C"|inline namespace).*\{$/ || /^}  \/\/ namespace/ || /^#/ { head = ""; next }

# Inside a block that began in the first column.
outer && /^}/ {
  if (kind == "function") check(outer)
  outer = inner = 0
  head = ""
  next
}
outer && kind == "class" {
  if (!inner && /^ ? [^ }].*\{$/ && !/^ *(struct|class|enum|union) /) inner = FNR
  else if (inner && /^  }/) { check(inner); inner = 0 }
  next
}
outer { next }

# Outside: what stands before the brace says what it opens.
/^$/ { head = ""; next }
/^\/\// { next }
{ head = head " " $0 }
/\{$/ {
  outer = FNR
  if (head ~ /^ (template <.*> )?(struct|class|enum|union) / || head ~ / requires.* (struct|class) /) kind = "class"
  else if (head ~ /= *\{$/) kind = "data"
  else kind = "function"
}
/;$/ { head = "" }
END { if (name != "") finish_file() }
