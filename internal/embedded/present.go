//go:build embed_executor

package embedded

import _ "embed"

// executor is bin/executor, compressed; written by "make build".
//
//go:embed executor.gz
var executor []byte
