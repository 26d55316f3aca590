package conf

import (
	"fmt"
	"net"
	"strconv"
)

// Service is one of the ResourceManager's ports: how its keys end, and Hadoop's
// default port.
type Service struct {
	suffix string
	port   int
}

// The ResourceManager's ports.
var (
	RMClient    = Service{"address", 8032}
	RMScheduler = Service{"scheduler.address", 8030}
	RMWeb       = Service{"webapp.address", 8088}
	RMWebTLS    = Service{"webapp.https.address", 8090}
)

const (
	rmPrefix   = "yarn.resourcemanager."
	rmHostname = rmPrefix + "hostname"
	rmIDs      = rmPrefix + "ha.rm-ids"
)

// ResourceManagers lists the addresses of a service, one for each id where there
// are several (yarn.resourcemanager.ha.enabled with ha.rm-ids), else one. An
// address that is not set follows from the host name with the default port. An
// error names the missing or malformed key.
func (c *Conf) ResourceManagers(s Service) ([]Server, error) {
	if !c.Bool(rmPrefix+"ha.enabled", false) {
		one, err := c.resourceManager("", s)
		if err != nil {
			return nil, err
		}
		return []Server{one}, nil
	}
	ids := c.Strings(rmIDs)
	if len(ids) == 0 {
		return nil, c.missing(rmIDs)
	}
	var out []Server
	for _, id := range ids {
		one, err := c.resourceManager(id, s)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// resourceManager is the address of one: its own key, else its host name.
func (c *Conf) resourceManager(id string, s Service) (Server, error) {
	key, hostKey := rmPrefix+s.suffix, rmHostname
	if id != "" {
		key, hostKey = key+"."+id, hostKey+"."+id
	}
	if one, found, err := c.server(id, key, s.port); found {
		return one, err
	}
	host := c.String(hostKey, "")
	if host == "" {
		return Server{}, c.missing(hostKey)
	}
	address, err := hostPort(host, s.port)
	if err != nil {
		return Server{}, fmt.Errorf("%s: %w (%s)", hostKey, err, c.Origin(hostKey))
	}
	// A port behind the host name belongs to no service.
	if host, _, err = net.SplitHostPort(address); err != nil {
		return Server{}, err
	}
	return Server{ID: id, Address: net.JoinHostPort(host, strconv.Itoa(s.port)), Key: hostKey}, nil
}

// RMWebURLs lists the base URLs of the ResourceManagers' web service, https
// where yarn.http.policy says so, without a slash at the end.
func (c *Conf) RMWebURLs() ([]string, error) {
	s, scheme := RMWeb, "http://"
	if c.String("yarn.http.policy", "") == "HTTPS_ONLY" {
		s, scheme = RMWebTLS, "https://"
	}
	servers, err := c.ResourceManagers(s)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range servers {
		out = append(out, scheme+one.Address)
	}
	return out, nil
}
