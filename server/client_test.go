package server_test

func asClient(args []string) error { return nil }
func asHolder(args []string) error { return nil }
