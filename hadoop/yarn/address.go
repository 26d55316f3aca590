package yarn

import (
	"net"
	"strings"

	"github.com/muster-project/muster/hadoop/conf"
)

// service is one of the ResourceManager's ports: the key that holds its address,
// and the port that goes with a bare host name.
type service struct {
	key  string
	port string
}

var (
	clientService    = service{"yarn.resourcemanager.address", "8032"}
	schedulerService = service{"yarn.resourcemanager.scheduler.address", "8030"}
	httpService      = service{"yarn.resourcemanager.webapp.address", "8088"}
	httpsService     = service{"yarn.resourcemanager.webapp.https.address", "8090"}
)

const hostnameKey = "yarn.resourcemanager.hostname"

// addresses lists where the service may answer: one address, or with high
// availability one for each ResourceManager. A key for one ResourceManager
// outranks the host name given for it, and both outrank the general keys.
func (s service) addresses(c *conf.Conf) []string {
	ids := c.Strings("yarn.resourcemanager.ha.rm-ids")
	if !c.Bool("yarn.resourcemanager.ha.enabled", false) || len(ids) == 0 {
		return []string{s.at(c, "")}
	}
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, s.at(c, "."+id))
	}
	return out
}

func (s service) at(c *conf.Conf, suffix string) string {
	address, host := given(c, s.key+suffix), given(c, hostnameKey+suffix)
	if suffix != "" && address == "" && host == "" {
		suffix, address, host = "", given(c, s.key), given(c, hostnameKey)
	}
	switch {
	case address != "":
	case host != "":
		address = host
	default:
		address = "0.0.0.0"
	}
	return s.complete(address)
}

// given is what a file says; what Hadoop would assume is decided here, since its
// assumption for an address is made of the host name's.
func given(c *conf.Conf, key string) string {
	v, ok := c.Get(key)
	if !ok {
		return ""
	}
	return strings.TrimSpace(v)
}

// complete adds a port that is missing. A daemon that listens on every interface
// of its own machine is reached there: a single machine's files often say no more.
func (s service) complete(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), s.port
	}
	if host == "" || host == "0.0.0.0" {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
