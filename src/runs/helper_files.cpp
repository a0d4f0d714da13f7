#include "runs/helper_files.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace iez::runs {

namespace {

bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, text::is_digit); }

// "N" behind the last mark; what stands before it goes to `front`.
bool ends_in_number(std::string_view name, std::string_view mark, std::string_view& front) {
  const std::size_t at = name.rfind(mark);
  if (at == std::string_view::npos || !is_number(name.substr(at + mark.size()))) return false;
  front = name.substr(0, at);
  return !front.empty();
}

bool cut_back(std::string_view& name, std::string_view back) {
  if (!name.ends_with(back)) return false;
  name.remove_suffix(back.size());
  return true;
}

bool is_shared_pointer(std::string_view name) {
  std::string_view front;
  if (!name.starts_with('.')) return false;
  if (ends_in_number(name, ".shfp.", front)) return true;
  return ends_in_number(name, ".", front) && ends_in_number(front, ".shfp.", front);
}

bool is_two_numbers(std::string_view name, std::string_view mark) {
  std::string_view front;
  return ends_in_number(name, "-", front) && ends_in_number(front, mark, front);
}

}  // namespace

bool is_helper_file(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  std::string_view front;
  if (is_shared_pointer(name) || ends_in_number(name, ".locktest.", front) || ends_in_number(name, ".metadata.", front))
    return true;
  if (cut_back(name, ".lock")) return is_two_numbers(name, "-");
  return cut_back(name, ".sm") && is_two_numbers(name, "_cid-");
}

}  // namespace iez::runs
