# `cmake --install`: the program, its man pages and completion, the libraries with their headers, and a CMake package `iez`.
include(CMakePackageConfigHelpers)
get_property(modules GLOBAL PROPERTY IEZ_MODULES)
install(TARGETS ${modules} EXPORT iezTargets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/iez")
install(TARGETS iez)
install(TARGETS iez_preload LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT iezTargets NAMESPACE iez:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/iez")
configure_package_config_file(cmake/iezConfig.cmake.in "${PROJECT_BINARY_DIR}/iezConfig.cmake"
                              INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/iez")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/iezConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/iezConfig.cmake" "${PROJECT_BINARY_DIR}/iezConfigVersion.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/iez")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
file(GLOB pages CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
# Where each shell looks for what packages bring.
install(FILES "$<TARGET_FILE_DIR:iez>/iez.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME iez)
install(FILES "$<TARGET_FILE_DIR:iez>/iez.zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _iez)
install(FILES "$<TARGET_FILE_DIR:iez>/iez.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
# Files with paths of the installation in them, which are known when it is installed: `cmake --install --prefix` may name another one
# than the configuration did. WHERE: below the prefix, or absolute.
function(iez_install_configured type source name where)
  install(CODE "
    set(CMAKE_INSTALL_FULL_BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    set(CMAKE_INSTALL_FULL_DATADIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
    configure_file(\"${PROJECT_SOURCE_DIR}/${source}\" \"${PROJECT_BINARY_DIR}/installed/${name}\" @ONLY)
    set(where \"${where}\")
    cmake_path(ABSOLUTE_PATH where BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    file(INSTALL DESTINATION \"\${where}\" TYPE ${type} FILES \"${PROJECT_BINARY_DIR}/installed/${name}\")")
endfunction()

# Those of a distribution belong to /lib/systemd/system.
set(IEZ_SYSTEMD_DIR "lib/systemd/system" CACHE STRING "Where units of systemd are installed")
foreach(unit iez-agent iez-db iez-serve)
  iez_install_configured(FILE packaging/systemd/${unit}.service.in ${unit}.service "${IEZ_SYSTEMD_DIR}")
endforeach()
# What schedulers run before and after a job. Tests take them from the build.
foreach(script slurm/prolog slurm/epilog pbs/prologue pbs/epilogue flux/prolog flux/epilog)
  configure_file(packaging/${script}.sh.in "${PROJECT_BINARY_DIR}/packaging/${script}.sh" @ONLY)
  cmake_path(GET script PARENT_PATH scheduler)
  iez_install_configured(PROGRAM packaging/${script}.sh.in ${script}.sh "${CMAKE_INSTALL_DATADIR}/iez/${scheduler}")
endforeach()
