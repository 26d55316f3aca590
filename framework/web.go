package framework

import (
	"net"
	"strconv"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// token is the word by which a notebook knows its owner. The executor makes it,
// so it is in no plan. Jupyter takes it from this variable, where it is not seen
// by whoever lists processes.
const token, secret = "JUPYTER_TOKEN", "${muster.secret}"

// web gives a role that people look at with a browser (tensorboard, notebook)
// the address to listen at, and makes it known under the role's name once
// something listens there.
func web(l *plan.Launch, role *plan.Role, m *plan.Member) {
	own := spec.DefaultCommand(role.Name)
	if own.IsZero() || len(role.Ports) == 0 {
		return
	}
	Set(l, "MUSTER_HOST", m.Host)
	address := "http://" + net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[role.Ports[0].Name])) + "/"
	_, env := l.Env[token]
	_, expand := l.Expand[token]
	if role.Name == "notebook" && role.Command.Shell == own.Shell && !env && !expand {
		Set(l, token, secret)
		address += "?token=" + secret
	}
	l.Publish = map[string]string{role.Name: address}
}
