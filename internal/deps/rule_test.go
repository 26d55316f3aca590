package deps

import "strings"

// module is the path that our own packages begin with.
const module = "github.com/muster-project/muster"

// Names of packages are patterns: "net" is that package, "net/..." that one and
// everything below, "backend/*" every package one step below backend with
// everything below it, each apart. Our own are written without the module.

// road says which of our packages another one may import directly. Packages
// that do not stand here may import any, as far as the bans allow.
var road = []struct {
	who string
	may string
	why string
}{
	{"spec", "", "the job file is the start of the road: it knows nobody"},
	{"spec/command", "spec", "it reads the command of a job file, for dialects and frameworks alike"},
	{"plan", "spec", "a plan is made of a job; what others pass to it, it declares itself"},
	{"access", "spec", "who may do what follows from lists: who somebody is, others find out"},
	{"event", "plan spec", "facts are about plans; who writes and who reads them stays out"},
	{"session", "event plan spec", "decisions see facts and plans; links, backends and journals are the coordinator's"},
	{"gang", "event plan spec", "the ticket rule is pure, and knows no backend"},
	{"queue", "event plan spec", "the scheduler core also runs in the simulator, where there is no cluster"},
	{"framework", "plan spec spec/command", "a framework sees plan and roster: it runs nothing and knows no backend"},
	{"framework/*", "framework plan spec spec/command", "a framework sees plan and roster: it runs nothing and knows no backend"},
	{"wire", "event plan spec wire/internal/...", "the protocol carries words of plan and event, and serves executor and coordinator alike"},
	{"wire/internal/...", "", "generated types know nobody"},
	{"process/...", "process/... internal/...", "running a process needs to know nothing of jobs"},
	{"storage", "", "the file system contract is a leaf"},
	{"storage/*", "storage/... hadoop/... internal/...", "a file system stores bytes: it knows no job"},
	{"history", "event plan spec storage/... internal/...", "the journal is read where nothing runs any more"},
	{"executor", "event plan spec wire process/... storage/... keep checkpoint progress python rendezvous sdk/... executor/... internal/...", "what a task needs is computed in the coordinator and sent"},
	{"executor/*", "event plan spec wire process/... storage/... hadoop/... keep checkpoint executor/... internal/...", "what a task needs is computed in the coordinator and sent"},
	{"checkpoint", "storage/... internal/...", "files go both ways: whose they are is a path"},
	{"keep", "storage/... process/capture internal/...", "kept logs are bytes and times: whose they are is a path"},
	{"backend", "event plan spec storage", "the contract is between plan and coordinator"},
	{"hadoop/...", "hadoop/...", "a leaf that could live alone"},
	{"dialect/*", "spec spec/command", "a dialect turns foreign words into spec, and compat in it carries the rest"},
	{"rendezvous", "", "keys and values over listeners: what they mean is between its clients"},
	{"progress", "", "a line of output in, numbers out: whose line it is stays out"},
	{"python", "storage/... internal/...", "a recipe and a directory in, an environment out: whose it is stays out"},
	{"internal/...", "internal/...", "things with no story serve everybody, so they may know nobody"},
	{"cmd/executor", "executor/... internal/...", "the small binary is the executor and nothing else"},
}

// reach says what must not be linked into a package, however far away.
var reach = []struct {
	who string
	not string
	why string
}{
	{"executor", "net/http github.com/spf13/cobra k8s.io/... modernc.org/sqlite/... github.com/mattn/go-sqlite3 github.com/ncruces/go-sqlite3/... " +
		"github.com/prometheus/... github.com/jcmturner/... portal/... framework/... backend/... session coordinator history server cli",
		"it lies in every slot of every job: it must stay small, and know no framework and no cluster"},
	{"cmd/executor", "net/http github.com/spf13/cobra k8s.io/... modernc.org/sqlite/... github.com/mattn/go-sqlite3 github.com/ncruces/go-sqlite3/... " +
		"github.com/prometheus/... github.com/jcmturner/... portal/... framework/... backend/... session coordinator history server cli",
		"it lies in every slot of every job: it must stay small, and know no framework and no cluster"},
	{"backend/*", "framework/... cli portal/...", "the plan is all that passes between framework and backend"},
	{"framework/...", "backend/... wire/... executor/... coordinator cli", "the plan is all that passes between framework and backend"},
	{"dialect/*", "backend/... framework/... plan coordinator cli", "a dialect turns foreign words into spec, and compat in it carries the rest"},
	{"coordinator", "backend/local/... backend/yarn/... backend/kubernetes/... backend/slurm/... backend/grid/... backend/fake/... " +
		"framework/plain framework/pytorch framework/tensorflow framework/mxnet framework/horovod framework/mpi framework/jax framework/paddle framework/ray portal/... cli",
		"it sees contracts; which backend and framework there are is a list in cli"},
}

// only says who alone may import a package directly.
var only = []struct {
	what string
	who  string
	why  string
}{
	{"github.com/spf13/cobra", "cli", "only cli knows that there is a command line"},
	{"k8s.io/...", "backend/kubernetes/...", "the client is 25 MB, and its types are nobody else's words"},
	{"modernc.org/sqlite/...", "history/...", "the index can be deleted and rebuilt; whoever needs it asks history"},
	{"google.golang.org/protobuf/...", "wire/... hadoop/...", "generated types stay behind the package that speaks the protocol"},
	{"github.com/opencontainers/cgroups/...", "process/...", "cgroups are made and read in one place"},
	{"hadoop/...", "hadoop/... backend/yarn/... storage/hdfs/... executor/container/... dialect/tony/... portal/... test/cluster/...", "Hadoop's words stay with those who speak to Hadoop"},
}

// siblings never meet: a package below one of these imports no other one below it.
var siblings = []string{"backend", "framework", "dialect"}

// pure lists the packages that decide: no I/O, no goroutine, no clock, no
// chance. What they say depends on their arguments alone, so a replay gives the
// same answer and a test needs no world.
var pure = []string{"access", "spec", "spec/command", "plan", "session", "event", "gang", "queue", "backend/yarn/ledger", "progress", "dialect/launcher"}

// impure are the packages that a deciding one must not import itself.
const impure = "os/... net/... log/... syscall/... context path/filepath math/rand/... crypto/rand runtime/... golang.org/x/sys/... golang.org/x/sync/..."

// clocks are the functions of package time that read or start a clock.
var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true,
}

// short is a package's name without our module; standard and foreign ones stay.
func short(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// own says that a path is one of our packages.
func own(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// match says that a short name is one of the patterns.
func match(patterns, name string) bool {
	for _, p := range strings.Fields(patterns) {
		if tree, ok := strings.CutSuffix(p, "/..."); ok {
			if name == tree || strings.HasPrefix(name, tree+"/") {
				return true
			}
			continue
		}
		if tree, ok := strings.CutSuffix(p, "/*"); ok {
			if strings.HasPrefix(name, tree+"/") {
				return true
			}
			continue
		}
		if name == p {
			return true
		}
	}
	return false
}

// branch is the part of name that stands one step below tree, or nothing.
func branch(tree, name string) string {
	rest, ok := strings.CutPrefix(name, tree+"/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}
