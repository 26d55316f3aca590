#!/usr/bin/env bash
# Prints the path of a Python that has mpi4py, and makes sure that OpenMPI and
# MPICH are there. The wheel of mpi4py takes either: MPI4PY_MPIABI says which.
# MPICH's library has another name on Debian, so for MPICH LD_LIBRARY_PATH must
# name the directory mpich beside bin, where it has the usual one.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"

need mpirun.openmpi openmpi-bin
need mpirun.mpich mpich
python=$(bash "$root/test/python/pypi.sh" mpi)
mpich=$(dirname "$(dirname "$python")")/mpich
# link gives libmpich the name under which the other distributions have it.
link() {
	local library
	library=$(ldconfig -p | awk '$1 == "libmpich.so.12" && !found++ { print $NF }')
	[ -n "$library" ] || fail "libmpich.so.12: not found" "as root: apt-get install mpich"
	mkdir -p "$mpich"
	ln -sf "$library" "$mpich/libmpi.so.12"
}
[ -e "$mpich/libmpi.so.12" ] || locked python-mpi-link link
echo "$python"
