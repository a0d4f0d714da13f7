! MPI-IO from Fortran, by the module of MPI: views, collective writes and reads, counts, pointers, split and nonblocking calls, errors.
! Every process checks what it reads; the first one compares the whole file by Fortran's own stream input.
! usage: fortran FILE
program fortran
  use mpi
  implicit none

  integer, parameter :: block = 40          ! integers that lie together
  integer, parameter :: blocks = 25         ! of a process
  integer, parameter :: own = block * blocks
  integer :: rank, ranks, code, file, view, part, i, count, wrong, all_wrong, request, error_class
  integer :: status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: offset, position, bytes
  integer :: sizes(2), subsizes(2), starts(2)
  integer, allocatable :: data(:), back(:), columns(:,:)
  character(len=4096) :: name

  call MPI_INIT(code)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, code)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, code)
  call GET_COMMAND_ARGUMENT(1, name)
  wrong = 0
  allocate(data(own), back(own), columns(block + 2, blocks))

  call MPI_FILE_OPEN(MPI_COMM_WORLD, trim(name), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, code)
  call expect(code == MPI_SUCCESS, 'open')

  ! 1. Interleaved blocks by a view and the individual pointer, from an array with a margin.
  call MPI_TYPE_VECTOR(blocks, block, block * ranks, MPI_INTEGER, view, code)
  call MPI_TYPE_COMMIT(view, code)
  bytes = 4_MPI_OFFSET_KIND * block * rank
  call MPI_FILE_SET_VIEW(file, bytes, MPI_INTEGER, view, 'native', MPI_INFO_NULL, code)
  call expect(code == MPI_SUCCESS, 'set_view')
  sizes = (/ block + 2, blocks /)
  subsizes = (/ block, blocks /)
  starts = (/ 1, 0 /)
  call MPI_TYPE_CREATE_SUBARRAY(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INTEGER, part, code)
  call MPI_TYPE_COMMIT(part, code)
  columns = -1
  do i = 1, own
    columns(2 + mod(i - 1, block), 1 + (i - 1) / block) = value_at(rank, i)
  end do
  call MPI_FILE_WRITE_ALL(file, columns, 1, part, status, code)
  call expect(code == MPI_SUCCESS, 'write_all')
  call MPI_GET_ELEMENTS(status, MPI_INTEGER, count, code)
  call expect(count == own, 'count of write_all')
  call MPI_FILE_GET_POSITION(file, position, code)
  call expect(position == own, 'position after write_all')
  call MPI_FILE_SYNC(file, code)
  call MPI_BARRIER(MPI_COMM_WORLD, code)
  call MPI_FILE_SYNC(file, code)

  ! 2. What the neighbour wrote, by its view.
  bytes = 4_MPI_OFFSET_KIND * block * mod(rank + 1, ranks)
  call MPI_FILE_SET_VIEW(file, bytes, MPI_INTEGER, view, 'native', MPI_INFO_NULL, code)
  back = 0
  call MPI_FILE_READ_ALL(file, back, own, MPI_INTEGER, status, code)
  call expect(code == MPI_SUCCESS, 'read_all')
  call MPI_GET_COUNT(status, MPI_INTEGER, count, code)
  call expect(count == own, 'count of read_all')
  call expect(all(back == (/ (value_at(mod(rank + 1, ranks), i), i = 1, own) /)), 'values of read_all')

  ! 3. Explicit offsets on the plain bytes of the file, behind the blocks, the last process with nothing.
  bytes = 4_MPI_OFFSET_KIND * own * ranks
  call MPI_FILE_SET_VIEW(file, bytes, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, code)
  do i = 1, own
    data(i) = value_at(rank + 1000, i)
  end do
  count = merge(0, 10, rank == ranks - 1 .and. ranks > 1)
  offset = 10 * rank
  call MPI_FILE_WRITE_AT_ALL(file, offset, data, count, MPI_INTEGER, status, code)
  call expect(code == MPI_SUCCESS, 'write_at_all')
  call MPI_FILE_SYNC(file, code)
  call MPI_BARRIER(MPI_COMM_WORLD, code)
  call MPI_FILE_SYNC(file, code)
  back = 0
  call MPI_FILE_READ_AT_ALL(file, 0_MPI_OFFSET_KIND, back, 10, MPI_INTEGER, status, code)
  call expect(all(back(1:10) == (/ (value_at(1000, i), i = 1, 10) /)) .and. back(11) == 0, 'values of read_at_all')

  ! 4. In two halves, and nonblocking.
  offset = 5000 + 10 * rank
  call MPI_FILE_WRITE_AT_ALL_BEGIN(file, offset, data, 10, MPI_INTEGER, code)
  call MPI_FILE_WRITE_AT_ALL_END(file, data, status, code)
  call expect(code == MPI_SUCCESS, 'write_at_all_end')
  call MPI_FILE_IWRITE_AT(file, offset + 10 * ranks, data, 10, MPI_INTEGER, request, code)
  call MPI_WAIT(request, status, code)
  call expect(code == MPI_SUCCESS, 'iwrite_at')
  call MPI_FILE_SYNC(file, code)
  call MPI_BARRIER(MPI_COMM_WORLD, code)
  call MPI_FILE_SYNC(file, code)
  back = 0
  call MPI_FILE_READ_AT_ALL(file, offset + 10 * ranks, back, 10, MPI_INTEGER, MPI_STATUS_IGNORE, code)
  call expect(all(back(1:10) == data(1:10)), 'values of iwrite_at')

  ! 5. A wrong argument is an error, and the file is as good as before.
  call MPI_FILE_WRITE_AT(file, offset, data, -1, MPI_INTEGER, status, code)
  call expect(code /= MPI_SUCCESS, 'a count below zero is taken')
  call MPI_ERROR_CLASS(code, error_class, i)
  call expect(error_class == MPI_ERR_COUNT .or. error_class == MPI_ERR_ARG, 'class of the error')

  call MPI_FILE_CLOSE(file, code)
  call expect(code == MPI_SUCCESS, 'close')
  call MPI_TYPE_FREE(view, code)
  call MPI_TYPE_FREE(part, code)
  call MPI_BARRIER(MPI_COMM_WORLD, code)
  if (rank == 0) call compare()
  call MPI_ALLREDUCE(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. all_wrong == 0) print '(a,i0,a)', 'fortran: ', ranks, ' ranks, all is as expected'
  call MPI_FINALIZE(code)
  if (all_wrong /= 0) stop 1

contains

  pure integer function value_at(whose, index)
    integer, intent(in) :: whose, index
    value_at = whose * 100000 + index * 7
  end function

  subroutine expect(well, what)
    logical, intent(in) :: well
    character(len=*), intent(in) :: what
    if (well) return
    wrong = wrong + 1
    write (0, '(a,i0,2a)') 'fortran: rank ', rank, ': ', what
  end subroutine

  subroutine compare()
    integer :: unit, whose, index, found, bad
    integer(kind=8) :: size
    open (newunit=unit, file=trim(name), access='stream', form='unformatted', status='old')
    bad = 0
    do index = 0, own * ranks - 1
      whose = mod(index / block, ranks)
      read (unit) found
      if (found /= value_at(whose, (index / (block * ranks)) * block + mod(index, block) + 1)) bad = bad + 1
    end do
    inquire (unit=unit, size=size)
    close (unit)
    call expect(bad == 0, 'values in the file')
    call expect(size == 4_8 * (own * ranks + 5000 + 20 * ranks), 'size of the file')
  end subroutine

end program
