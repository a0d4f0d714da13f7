# iez_build_info(TEMPLATE OUTPUT): writes the version and the commit of the working tree into a header, at every build, so that
# benchmark results carry the commit they were measured at. "unknown" outside a checkout.
function(iez_build_info template output)
  find_package(Git QUIET)
  add_custom_target(iez_build_info
    COMMAND "${CMAKE_COMMAND}" "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DPROJECT_VERSION=${PROJECT_VERSION}"
            "-DTEMPLATE=${template}" "-DOUTPUT=${output}" -P "${PROJECT_SOURCE_DIR}/cmake/WriteBuildInfo.cmake"
    BYPRODUCTS "${output}" COMMENT "Asking git for the commit" VERBATIM)
endfunction()
