# Headers that most sources include, compiled once for each set of flags. Only where people wait, in builds of type Debug and Release:
# an include that is missing from a source shows in the others, and in clang-tidy.
#
# iez_precompile(TARGET KIND): KIND is library (iez_flags and fmt), json (the same and nlohmann_json) or test (of either). json is for
# targets whose every source needs it: its header costs the others most of a second each, precompiled or not.
set(IEZ_PRECOMPILE OFF)
if(CMAKE_BUILD_TYPE MATCHES "^(Debug|Release)$" AND NOT IEZ_TIDY)
  set(IEZ_PRECOMPILE ON)
endif()

set(iez_headers_library <fmt/format.h> <algorithm> <array> <chrono> <cmath> <map> <memory> <optional> <span> <string> <string_view>
                        <utility> <vector>)
set(iez_headers_json <nlohmann/json.hpp> ${iez_headers_library})
set(iez_headers_test <gmock/gmock.h> <gtest/gtest.h> ${iez_headers_library})

function(iez_precompile target kind)
  if(NOT IEZ_PRECOMPILE)
    return()
  endif()
  set(source iez_headers_${kind})
  if(NOT TARGET ${source})
    set(file "${PROJECT_BINARY_DIR}/${source}.cpp")
    # A program, as tests are: objects of libraries and of programs differ in -fPIC and -fPIE.
    if(kind STREQUAL "test")
      file(CONFIGURE OUTPUT "${file}" CONTENT "int main() {}\n")
      add_executable(${source} "${file}")
      target_link_libraries(${source} PRIVATE GTest::gmock)
      iez_test_flags(${source})
    else()
      file(CONFIGURE OUTPUT "${file}" CONTENT "")
      add_library(${source} OBJECT "${file}")
    endif()
    target_link_libraries(${source} PRIVATE iez_flags fmt::fmt $<$<NOT:$<STREQUAL:${kind},library>>:nlohmann_json::nlohmann_json>)
    target_precompile_headers(${source} PRIVATE ${iez_headers_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${source})
endfunction()
