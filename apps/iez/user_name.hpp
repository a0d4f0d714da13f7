// Who the user is, as the store knows owners: the name of the account, or its number where it has none.
#pragma once

#include <string>

namespace iez::cli {

std::string user_name();

}  // namespace iez::cli
