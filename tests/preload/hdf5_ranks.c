/* All ranks write their rows of one dataset of a shared HDF5 file by MPI-IO. usage: hdf5_ranks FILE ROWS */
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hsize_t rows = (hsize_t)atoi(argv[2]);
  const hsize_t size[2] = {rows * (hsize_t)ranks, 1024};
  const hsize_t part[2] = {rows, 1024};
  const hsize_t from[2] = {rows * (hsize_t)rank, 0};
  int* const values = calloc(rows * 1024, sizeof(int));

  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(2, size, NULL);
  const hid_t data = H5Dcreate2(file, "pressure", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t memory = H5Screate_simple(2, part, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, part, NULL);
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const herr_t status = H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, values);
  const int bad = file < 0 || data < 0 || status < 0 || H5Dclose(data) < 0 || H5Fclose(file) < 0;
  free(values);
  MPI_Finalize();
  return bad;
}
