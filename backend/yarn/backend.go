package yarn

// Name is what "on:" in a job file says.
const Name = "yarn"
