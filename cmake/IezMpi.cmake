# Programs for each MPI whose compiler is found; preload/mpi finds them, and lists their flavours in IEZ_MPI_FLAVOURS.

# iez_mpi_compiler(FLAVOUR LANGUAGE VARIABLE): mpicc.openmpi, or an mpicc of that flavour; LANGUAGE is cc or f90. Empty: none.
function(iez_mpi_compiler flavour language variable)
  set(compiler "")
  if(language STREQUAL "cc")
    foreach(name mpicc.${flavour} mpicc)
      if(NOT compiler AND IEZ_${name})
        set(compiler "${IEZ_${name}}")
      endif()
    endforeach()
  else()
    find_program(IEZ_mpi${language}_${flavour} mpi${language}.${flavour})
    mark_as_advanced(IEZ_mpi${language}_${flavour})
    if(IEZ_mpi${language}_${flavour})
      set(compiler "${IEZ_mpi${language}_${flavour}}")
    endif()
  endif()
  set(${variable} "${compiler}" PARENT_SCOPE)
endfunction()

# iez_mpi_program(TARGET FLAVOUR): headers and libraries of that MPI for a program in C or C++.
function(iez_mpi_program target flavour)
  iez_mpi_compiler(${flavour} cc compiler)
  # MPICH prints its whole command; Open MPI only what it adds, if asked so.
  if(flavour STREQUAL "openmpi")
    execute_process(COMMAND "${compiler}" -showme:compile OUTPUT_VARIABLE compile OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND "${compiler}" -showme:link OUTPUT_VARIABLE link OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  else()
    execute_process(COMMAND "${compiler}" -compile-info OUTPUT_VARIABLE compile OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND "${compiler}" -link-info OUTPUT_VARIABLE link OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  string(REGEX MATCHALL "-I *[^ \n]+" folders "${compile}")
  list(TRANSFORM folders REPLACE "^-I *" "")
  string(REGEX MATCHALL "(^| )-[Ll] *[^ \n]+" libraries "${link}")
  list(TRANSFORM libraries STRIP)
  target_include_directories(${target} SYSTEM PRIVATE ${folders})
  # The C++ interfaces of MPI are gone since MPI 3.
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(${target} PRIVATE ${libraries})
  # The constants of MPI are casts of integers.
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()
