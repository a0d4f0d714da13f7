/* Makes an HDF5 file whose bytes are the same each time. usage: make_hdf5 FILE */
#include <hdf5.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[2] = {64, 64};
  const hsize_t size[2] = {512, 256};
  H5Pset_obj_track_times(creation, 0);
  H5Pset_chunk(creation, 2, chunk);
  int* const values = malloc(sizeof(int) * size[0] * size[1]);
  for (hsize_t i = 0; i < size[0] * size[1]; ++i) values[i] = (int)(i * 7 % 1000);

  const hid_t file = H5Fcreate(argv[1], H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, size, NULL);
  const hid_t group = H5Gcreate2(file, "/step", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t data = H5Dcreate2(group, "pressure", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const herr_t status = H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  free(values);
  return file < 0 || data < 0 || status < 0 || H5Dclose(data) < 0 || H5Gclose(group) < 0 || H5Sclose(space) < 0 ||
         H5Fclose(file) < 0;
}
