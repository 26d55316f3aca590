package spec

import "cmp"

// DecodeSite reads a site file strictly. The error is of type Problems.
func DecodeSite(name string, data []byte) (*Site, error) {
	root, problems := parse(name, data)
	var site Site
	if root != nil {
		problems = append(problems, decodeNode(root, &site)...)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return &site, nil
}

// Under gives the limits that hold where those of a user stand, key by key, in
// place of the general ones.
func (l Limits) Under(own Limits) Limits {
	l.Instances = cmp.Or(own.Instances, l.Instances)
	l.CPUs = cmp.Or(own.CPUs, l.CPUs)
	l.Memory = cmp.Or(own.Memory, l.Memory)
	l.GPUs = cmp.Or(own.GPUs, l.GPUs)
	l.Run = cmp.Or(own.Run, l.Run)
	l.Priority = cmp.Or(own.Priority, l.Priority)
	if own.Queues != nil {
		l.Queues = own.Queues
	}
	return l
}
