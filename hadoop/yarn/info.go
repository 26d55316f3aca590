package yarn

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Info is what a ResourceManager says of itself.
type Info struct {
	Started time.Time
	State   string // STARTED
	HAState string // ACTIVE, STANDBY
	Version string // Hadoop's, such as 3.5.0
	// Clock is the ResourceManager's time in whole seconds, and Ahead how much it
	// is ahead of this machine's, to about a second: container tokens expire by it.
	Clock time.Time
	Ahead time.Duration
}

// Info asks whichever ResourceManager answers first: a standby answers too.
func (r *REST) Info(ctx context.Context) (Info, error) {
	var raw struct {
		ClusterInfo struct {
			StartedOn number `json:"startedOn"`
			State     string `json:"state"`
			HAState   string `json:"haState"`
			Version   string `json:"hadoopVersion"`
		} `json:"clusterInfo"`
	}
	sent := time.Now()
	h, err := r.rm(ctx, "/ws/v1/cluster/info", nil, &raw)
	if err != nil {
		return Info{}, err
	}
	c := raw.ClusterInfo
	info := Info{Started: stamp(c.StartedOn), State: c.State, HAState: c.HAState, Version: c.Version}
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		info.Clock = t
		// The header is cut to a second: half of one is the best guess of the rest.
		info.Ahead = t.Add(time.Second / 2).Sub(sent.Add(time.Since(sent) / 2)).Round(time.Second / 2)
	}
	return info, nil
}

// Setting is one value of the ResourceManager's running configuration.
type Setting struct {
	Value  string
	Source string // the file
}

// Setting asks for one key; false when it is not set there.
func (r *REST) Setting(ctx context.Context, key string) (Setting, bool, error) {
	var raw struct {
		Property *struct {
			Value    text         `json:"value"`
			Resource list[string] `json:"resource"`
		} `json:"property"`
	}
	_, err := r.rm(ctx, "/conf", url.Values{"name": {key}, "format": {"json"}}, &raw)
	if status(err) == http.StatusNotFound {
		return Setting{}, false, nil
	}
	if err != nil || raw.Property == nil {
		return Setting{}, false, err
	}
	s := Setting{Value: string(raw.Property.Value)}
	if n := len(raw.Property.Resource); n > 0 {
		s.Source = raw.Property.Resource[n-1]
	}
	return s, true, nil
}

// Conf reads the whole running configuration of the ResourceManager: what it
// goes by, whatever the client's files say.
func (r *REST) Conf(ctx context.Context) (map[string]string, error) {
	var raw struct {
		Properties list[struct {
			Key   string `json:"key"`
			Value text   `json:"value"`
		}] `json:"properties"`
	}
	if _, err := r.rm(ctx, "/conf", url.Values{"format": {"json"}}, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(raw.Properties))
	for _, p := range raw.Properties {
		out[p.Key] = string(p.Value)
	}
	return out, nil
}

// stamp reads milliseconds since 1970; 0 is no time.
func stamp(n number) time.Time {
	if n.int64() <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(n.int64())
}
