# DuckDB's header, and its library: found, not linked. src/jobs loads it when it is needed, from where it was found here or from where
# it is installed beside the program.
set(roots "$ENV{IEZ_DUCKDB_ROOT}" "${PROJECT_SOURCE_DIR}/build/duckdb")
find_path(IEZ_DUCKDB_INCLUDE duckdb.h HINTS ${roots} PATH_SUFFIXES include)
find_library(IEZ_DUCKDB_LIBRARY duckdb HINTS ${roots} PATH_SUFFIXES lib)
if(NOT IEZ_DUCKDB_INCLUDE OR NOT IEZ_DUCKDB_LIBRARY)
  message(FATAL_ERROR "DuckDB is not here: run tools/get-duckdb, or set IEZ_DUCKDB_ROOT to a folder with include/duckdb.h and "
                      "lib/libduckdb.so (docs/dependencies.md)")
endif()
add_library(iez_duckdb INTERFACE)
target_include_directories(iez_duckdb SYSTEM INTERFACE "${IEZ_DUCKDB_INCLUDE}")
target_compile_definitions(iez_duckdb INTERFACE IEZ_DUCKDB_LIBRARY="${IEZ_DUCKDB_LIBRARY}"
                                                IEZ_DUCKDB_FOLDER="${CMAKE_INSTALL_LIBDIR}/iez")
target_link_libraries(iez_duckdb INTERFACE ${CMAKE_DL_LIBS})
install(FILES "${IEZ_DUCKDB_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/iez")
