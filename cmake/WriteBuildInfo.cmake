# Run at build time by iez_build_info(): see IezVersion.cmake. configure_file() leaves an unchanged header alone.
set(IEZ_COMMIT "unknown")
if(GIT)
  execute_process(COMMAND "${GIT}" describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY "${SOURCE}"
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(IEZ_COMMIT "${commit}")
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
