// Package python makes Python environments. A recipe (a file of requirements, a
// pyproject.toml, a lock file) or a packed environment comes in, with the
// interpreter that it is for and a directory; an environment goes out that is
// made once for the same content, whoever asks for it at the same time.
//
//	Read      a recipe          → what is to be installed, and its address
//	Build     recipe            → environment, on a machine that reaches an index
//	Wheels    recipe            → archive of wheels, for machines that do not
//	Install   archive of wheels → environment, with the node's own interpreter
//	Unpack    packed venv or conda environment → environment
//	Conda     name              → directory of a conda environment
//
// Environments lie in a Shelf, where each has a directory that is named by its
// content address. They are built in their place, because scripts of Python
// environments hold their own path, under an exclusive lock; the file "complete"
// is written last, and without it a directory is nothing but leftovers. Who uses
// an environment holds the lock shared, so that it is not cleaned away.
package python
