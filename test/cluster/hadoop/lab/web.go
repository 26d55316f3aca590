package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/kerberos"
)

// bean asks a daemon of HDFS for one of its JMX beans.
func (c *Cluster) bean(ctx context.Context, port int, name string, bean any) error {
	var answer struct {
		Beans []json.RawMessage `json:"beans"`
	}
	if err := c.get(ctx, port, "/jmx?qry=Hadoop:service="+name, &answer); err != nil {
		return err
	}
	if len(answer.Beans) != 1 {
		return fmt.Errorf("%s: no such bean yet", name)
	}
	return json.Unmarshal(answer.Beans[0], bean)
}

// connections are not kept: whoever uses this package would have to close them.
var connections = &http.Transport{DisableKeepAlives: true}

// manager asks the active ResourceManager.
func (c *Cluster) manager(ctx context.Context, path string, answer any) error {
	active, err := c.Active(ctx, "rm")
	if err != nil {
		return err
	}
	return c.get(ctx, port(active, rmWeb), path, answer)
}

// get asks one of the cluster's web ports as root, which everybody may call
// himself where there is no Kerberos.
func (c *Cluster) get(ctx context.Context, port int, path string, answer any) error {
	return c.web(ctx, http.MethodGet, port, path, nil, answer)
}

func (c *Cluster) web(ctx context.Context, method string, port int, path string, body io.Reader, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	url := "http://" + address(c.Base, port) + path
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	browser, err := c.browser()
	if err != nil {
		return err
	}
	got, err := browser.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if got.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.300s", method, url, got.Status, data)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// root is who asks the web ports. It is made when it is first wanted; what it keeps
// of tickets and cookies needs nobody to end it.
type root struct {
	mu    sync.Mutex
	proof http.RoundTripper
}

func (c *Cluster) browser() (*http.Client, error) {
	if !c.secure() {
		return &http.Client{Transport: connections}, nil
	}
	c.root.mu.Lock()
	defer c.root.mu.Unlock()
	if c.root.proof == nil {
		login, err := c.login("root")
		if err != nil {
			return nil, err
		}
		c.root.proof = login.Transport(connections)
	}
	return &http.Client{Transport: c.root.proof}, nil
}

// login is for anybody who has a keytab.
func (c *Cluster) login(who string) (*kerberos.Login, error) {
	return kerberos.Open(kerberos.Source{Keytab: c.keytab(who), Principal: who, Config: c.realm().Config()})
}
