! Every call of MPI-IO that libiez-mpi-*.so has Fortran names for, each checked: data, status, handle.
! usage: mpi_calls FILE
#ifdef IEZ_F08
#define COMMUNICATOR type(MPI_Comm)
#define INFORMATION type(MPI_Info)
#define FILEHANDLE type(MPI_File)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#else
#define COMMUNICATOR integer
#define INFORMATION integer
#define FILEHANDLE integer
#define DATATYPE integer
#define REQUEST integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif

module checks
#ifdef IEZ_F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: wrong = 0
  integer :: rank = 0
  integer :: ranks = 1
  integer, parameter :: n = 1000       ! numbers of a rank
  integer, parameter :: piece = 10     ! that lie together in the file
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    print '(a,i0,2a)', 'rank ', rank, ' is wrong: ', what
  end subroutine

  subroutine check_status(told, expected, what)
    STATUS, intent(in) :: told
    integer, intent(in) :: expected
    character(len=*), intent(in) :: what
    integer :: count, error
    call MPI_Get_count(told, MPI_INTEGER, count, error)
    call check(count == expected, what // ': count of its status')
  end subroutine

  subroutine fill(data, seed)
    integer, intent(out) :: data(n)
    integer, intent(in) :: seed
    integer :: i
    do i = 1, n
      data(i) = seed * 10000000 + rank * 10000 + i
    end do
  end subroutine

  subroutine wait_for(pending, told)
    REQUEST, intent(inout) :: pending
    STATUS, intent(out) :: told
    logical :: done
    integer :: error
    done = .false.
    do while (.not. done)
      call MPI_Test(pending, done, told, error)
    end do
  end subroutine
end module

program mpi_calls
  use checks
  implicit none
  character(len=512) :: path
  character(len=64) :: value
  INFORMATION :: info, told_info
  FILEHANDLE :: file
  DATATYPE :: row, filetype, absolute
  REQUEST :: pending(2)
  STATUS :: told
#ifdef IEZ_F08
  type(MPI_Status) :: both(2)
#else
  integer :: both(MPI_STATUS_SIZE, 2)
#endif
  integer, asynchronous :: mine(n), more(n), back(n), back2(n)
  integer :: error, i
  logical :: flag
  integer(kind=MPI_OFFSET_KIND) :: begin, at, zero
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent, place(1)
  integer :: lengths(1)

  zero = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)

  call MPI_Info_create(info, error)
  call MPI_Info_set(info, 'cb_buffer_size', '65536', error)
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, info, file, error)
  call check(error == MPI_SUCCESS, 'open')

  ! Pieces of all ranks take turns.
  call MPI_Type_contiguous(piece, MPI_INTEGER, row, error)
  lower = 0
  extent = int(ranks, MPI_ADDRESS_KIND) * piece * 4
  call MPI_Type_create_resized(row, lower, extent, filetype, error)
  call MPI_Type_commit(filetype, error)
  begin = int(rank, MPI_OFFSET_KIND) * piece * 4
  call MPI_File_set_view(file, begin, MPI_INTEGER, filetype, 'native  ', MPI_INFO_NULL, error)
  call check(error == MPI_SUCCESS, 'set_view')

  call fill(mine, 1)
  call MPI_File_write_all(file, mine, n, MPI_INTEGER, told, error)
  call check(error == MPI_SUCCESS, 'write_all')
  call check_status(told, n, 'write_all')
  call fill(more, 2)
  at = n
  call MPI_File_write_at_all(file, at, more, n, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call check(error == MPI_SUCCESS, 'write_at_all')
  back = 0
  call MPI_File_read_at_all(file, zero, back, n, MPI_INTEGER, told, error)
  call check_status(told, n, 'read_at_all')
  call check(all(back == mine), 'read_at_all')
  back = 0
  call MPI_File_read_all(file, back, n, MPI_INTEGER, told, error)
  call check_status(told, n, 'read_all')
  call check(all(back == more), 'read_all')

  call fill(mine, 3)
  call MPI_File_write_all_begin(file, mine, n, MPI_INTEGER, error)
  call MPI_File_write_all_end(file, mine, told, error)
  call check_status(told, n, 'write_all_end')
  call fill(more, 4)
  at = 3 * n
  call MPI_File_write_at_all_begin(file, at, more, n, MPI_INTEGER, error)
  call MPI_File_write_at_all_end(file, more, told, error)
  call check_status(told, n, 'write_at_all_end')
  at = 2 * n
  back = 0
  call MPI_File_read_at_all_begin(file, at, back, n, MPI_INTEGER, error)
  call MPI_File_read_at_all_end(file, back, told, error)
  call check_status(told, n, 'read_at_all_end')
  call check(all(back == mine), 'read_at_all_end')
  back = 0
  call MPI_File_read_all_begin(file, back, n, MPI_INTEGER, error)
  call MPI_File_read_all_end(file, back, MPI_STATUS_IGNORE, error)
  call check(all(back == more), 'read_all_end')

  ! While the program goes on: waited for by all three kinds of calls.
  call fill(mine, 5)
  call fill(more, 6)
  at = 5 * n
  call MPI_File_iwrite_all(file, mine, n, MPI_INTEGER, pending(1), error)
  call check(error == MPI_SUCCESS, 'iwrite_all')
  call MPI_File_iwrite_at_all(file, at, more, n, MPI_INTEGER, pending(2), error)
  call check(error == MPI_SUCCESS, 'iwrite_at_all')
  call MPI_Waitall(2, pending, both, error)
#ifdef IEZ_F08
  call check_status(both(1), n, 'waitall, first')
  call check_status(both(2), n, 'waitall, second')
#else
  call check_status(both(:, 1), n, 'waitall, first')
  call check_status(both(:, 2), n, 'waitall, second')
#endif
  call MPI_File_seek(file, at, MPI_SEEK_SET, error)
  back = 0
  back2 = 0
  call MPI_File_iread_all(file, back2, n, MPI_INTEGER, pending(1), error)
  call MPI_Wait(pending(1), told, error)
  call check_status(told, n, 'wait')
  call check(all(back2 == more), 'iread_all')
  at = 4 * n
  call MPI_File_iread_at_all(file, at, back, n, MPI_INTEGER, pending(2), error)
  call wait_for(pending(2), told)
  call check_status(told, n, 'test')
  call check(all(back == mine), 'iread_at_all')
  call check(pending(1) == MPI_REQUEST_NULL .and. pending(2) == MPI_REQUEST_NULL, 'requests that are complete')

  ! Memory by its address.
  call fill(mine, 7)
  call MPI_Get_address(mine, place(1), error)
  lengths(1) = n
  call MPI_Type_create_hindexed(1, lengths, place, MPI_INTEGER, absolute, error)
  call MPI_Type_commit(absolute, error)
  at = 6 * n
  call MPI_File_write_at_all(file, at, MPI_BOTTOM, 1, absolute, told, error)
  call check_status(told, n, 'write_at_all from MPI_BOTTOM')
  back = 0
  call MPI_File_read_at_all(file, at, back, n, MPI_INTEGER, told, error)
  call check(all(back == mine), 'write_at_all from MPI_BOTTOM')

  ! By the shared file pointer, behind all of that.
  begin = int(ranks, MPI_OFFSET_KIND) * 7 * n * 4
  call MPI_File_set_view(file, begin, MPI_INTEGER, MPI_INTEGER, 'native', info, error)
  call check(error == MPI_SUCCESS, 'set_view with info')
  call fill(mine, 8)
  call MPI_File_write_ordered(file, mine, n - rank, MPI_INTEGER, told, error)
  call check_status(told, n - rank, 'write_ordered')
  call fill(more, 9)
  call MPI_File_write_ordered_begin(file, more, n, MPI_INTEGER, error)
  call MPI_File_write_ordered_end(file, more, told, error)
  call check_status(told, n, 'write_ordered_end')
  call MPI_File_seek_shared(file, zero, MPI_SEEK_SET, error)
  back = 0
  call MPI_File_read_ordered(file, back, n - rank, MPI_INTEGER, told, error)
  call check_status(told, n - rank, 'read_ordered')
  call check(all(back(1:n - rank) == mine(1:n - rank)), 'read_ordered')
  back = 0
  call MPI_File_read_ordered_begin(file, back, n, MPI_INTEGER, error)
  call MPI_File_read_ordered_end(file, back, told, error)
  call check_status(told, n, 'read_ordered_end')
  call check(all(back == more), 'read_ordered_end')

  call MPI_File_set_atomicity(file, .true., error)
  call MPI_File_get_atomicity(file, flag, error)
  call check(flag, 'atomicity')
  call MPI_File_set_atomicity(file, .false., error)
  call MPI_File_get_atomicity(file, flag, error)
  call check(.not. flag, 'no atomicity')

  call MPI_Info_set(info, 'cb_buffer_size', '131072', error)
  call MPI_File_set_info(file, info, error)
  call check(error == MPI_SUCCESS, 'set_info')
  call MPI_File_get_info(file, told_info, error)
  call check(error == MPI_SUCCESS, 'get_info')
  value = ' '
  call MPI_Info_get(told_info, 'iez_mode', len(value), value, flag, error)
  if (rank == 0) print '(2a)', 'mode ', trim(value)
  call MPI_Info_free(told_info, error)
  call MPI_Info_free(info, error)

  call MPI_File_close(file, error)
  call check(error == MPI_SUCCESS, 'close')
  call check(file == MPI_FILE_NULL, 'the handle of a closed file')

  call MPI_Allreduce(wrong, i, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(i0,a)', i, ' wrong'
  call MPI_Finalize(error)
  if (i /= 0) stop 1
end program
