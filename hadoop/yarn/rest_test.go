package yarn

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// web is a ResourceManager's web service that answers from testdata, whose files
// are answers of Hadoop 3.5.0 with the names of hosts and people replaced.
func web(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("user.name") != "alice" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name, ok := files[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"RemoteException":{"exception":"NotFoundException","message":"no such thing","javaClassName":"x.NotFoundException"}}`))
			return
		}
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Error(err)
		}
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

// reader makes a REST whose ResourceManagers are the given servers.
func reader(t *testing.T, servers ...*httptest.Server) *REST {
	t.Helper()
	var base []string
	for _, s := range servers {
		base = append(base, s.URL)
	}
	r := newREST(base, "http", "alice", nil)
	t.Cleanup(func() { r.Close() })
	return r
}

// golden compares what was read with testdata/<name>.golden.
func golden(t *testing.T, name string, got any) {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnswersOfACluster(t *testing.T) {
	id := AppID{Cluster: 1700000000000, Number: 1}
	cluster := "/ws/v1/cluster/"
	tests := map[string]struct {
		path, file string
		read       func(r *REST) (any, error)
	}{
		"scheduler-capacity":   {cluster + "scheduler", "scheduler-capacity.json", func(r *REST) (any, error) { return r.Scheduler(t.Context()) }},
		"scheduler-fair":       {cluster + "scheduler", "scheduler-fair.json", func(r *REST) (any, error) { return r.Scheduler(t.Context()) }},
		"nodes":                {cluster + "nodes", "nodes.json", func(r *REST) (any, error) { return r.Nodes(t.Context()) }},
		"app":                  {cluster + "apps/" + id.String(), "app.json", func(r *REST) (any, error) { return r.App(t.Context(), id) }},
		"apps":                 {cluster + "apps", "apps.json", func(r *REST) (any, error) { return r.Apps(t.Context(), nil) }},
		"app-activities":       {cluster + "scheduler/app-activities/" + id.String(), "app-activities.json", func(r *REST) (any, error) { return r.AppActivities(t.Context(), id) }},
		"app-activities-over":  {cluster + "scheduler/app-activities/" + id.String(), "app-activities-over.json", func(r *REST) (any, error) { return r.AppActivities(t.Context(), id) }},
		"app-activities-older": {cluster + "scheduler/app-activities/" + id.String(), "app-activities-older.json", func(r *REST) (any, error) { return r.AppActivities(t.Context(), id) }},
		"activities":           {cluster + "scheduler/activities", "activities.json", func(r *REST) (any, error) { return r.Activities(t.Context(), "") }},
		"activities-first":     {cluster + "scheduler/activities", "activities-first.json", func(r *REST) (any, error) { return r.Activities(t.Context(), "") }},
		"conf":                 {"/conf", "conf.json", func(r *REST) (any, error) { return r.Conf(t.Context()) }},
		"devices": {"/ws/v1/node/resources/yarn.io%2Fgpu", "devices.json", func(r *REST) (any, error) {
			return r.Devices(t.Context(), strings.TrimPrefix(r.base[0], "http://"), GPU)
		}},
		"devices-none": {"/ws/v1/node/resources/yarn.io%2Fgpu", "devices-none.json", func(r *REST) (any, error) {
			return r.Devices(t.Context(), strings.TrimPrefix(r.base[0], "http://"), GPU)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.read(reader(t, web(t, map[string]string{test.path: test.file})))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, got)
		})
	}
}

func TestInfo(t *testing.T) {
	info, err := reader(t, web(t, map[string]string{"/ws/v1/cluster/info": "info.json"})).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Version != "3.5.0" || info.HAState != "ACTIVE" || info.Started.UnixMilli() != 1700000000000 {
		t.Errorf("%+v", info)
	}
	if info.Clock.IsZero() || info.Ahead.Abs().Seconds() > 2 {
		t.Errorf("clock %v, ahead %v", info.Clock, info.Ahead)
	}
}

func TestSetting(t *testing.T) {
	r := reader(t, web(t, map[string]string{"/conf": "conf-one.json"}))
	got, ok, err := r.Setting(t.Context(), "yarn.scheduler.maximum-allocation-mb")
	if diff := cmp.Diff(Setting{Value: "4096", Source: "yarn-site.xml"}, got); diff != "" || !ok || err != nil {
		t.Errorf("%v %v (-want +got):\n%s", ok, err, diff)
	}
	if _, ok, err := reader(t, web(t, nil)).Setting(t.Context(), "no.such.key"); ok || err != nil {
		t.Errorf("a key that is not set: %v, %v", ok, err)
	}
}

// A standby sends to the active one; one that is away, or answers with a page for
// people, is passed over.
func TestActiveIsFound(t *testing.T) {
	active := web(t, map[string]string{"/ws/v1/cluster/nodes": "nodes.json"})
	standby := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", active.URL+r.URL.Path) // without the query, as some versions do
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer standby.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("This is standby RM. There is no active RM right now."))
	}))
	defer page.Close()
	away := httptest.NewServer(nil)
	away.Close()
	for name, servers := range map[string][]*httptest.Server{
		"standby": {standby}, "away": {away, active}, "page": {page, active}, "all": {away, page, standby},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, servers...)
			for range 2 {
				if nodes, err := r.Nodes(t.Context()); err != nil || len(nodes) != 4 {
					t.Fatalf("%d nodes, %v", len(nodes), err)
				}
			}
			if at := int(r.at.Load()); at != len(servers)-1 {
				t.Errorf("asks server %d first, want the last", at)
			}
		})
	}
	if _, err := reader(t, away, page).Nodes(t.Context()); !errors.Is(err, ErrNotJSON) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestRefusal(t *testing.T) {
	r := reader(t, web(t, nil))
	_, err := r.App(t.Context(), AppID{Cluster: 1, Number: 1})
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound || refusal.Message != "no such thing" {
		t.Errorf("%v", err)
	}
	circle := httptest.NewUnstartedServer(nil)
	circle.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, circle.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	circle.Start()
	defer circle.Close()
	if _, err := reader(t, circle).Nodes(t.Context()); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("a circle: %v", err)
	}
}

func TestFind(t *testing.T) {
	s, err := reader(t, web(t, map[string]string{"/ws/v1/cluster/scheduler": "scheduler-capacity.json"})).Scheduler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"root.default": "root.default", "ml": "root.ml", "root": "root", "nothing": ""} {
		got := ""
		if q := s.Find(name); q != nil {
			got = q.Path
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if n := len(s.Leaves()); n != 3 {
		t.Errorf("%d leaves, want 3", n)
	}
}

func TestDeep(t *testing.T) {
	var into any
	for depth, want := range map[int]error{maxDepth: nil, maxDepth + 1: errDeep, 1 << 20: errDeep} {
		b := strings.Repeat("[", depth) + `"[[[\"[["` + strings.Repeat("]", depth)
		if err := decode([]byte(b), &into); !errors.Is(err, want) {
			t.Errorf("%d levels: %v, want %v", depth, err, want)
		}
	}
}

func TestFlexible(t *testing.T) {
	var got struct {
		N []number       `json:"n"`
		A list[string]   `json:"a"`
		B list[string]   `json:"b"`
		C list[struct{}] `json:"c"`
		D wrapped[int]   `json:"d"`
		E wrapped[int]   `json:"e"`
		F wrapped[int]   `json:"f"`
		G wrapped[int]   `json:"g"`
		T []text         `json:"t"`
		P []rawPriority  `json:"p"`
		X list[string]   `json:"x"`
	}
	const in = `{"n":[1,"2","3.5%",null,"",true,"N/A","Infinity",1e300],"a":["x","y"],"b":"x","c":{},
		"d":{"queue":[1,2]},"e":{"queue":3},"f":[4],"g":{},"t":["a",1,null,true],"p":[3,{"priority":4},"5"]}`
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	var ints []int64
	for _, n := range got.N {
		ints = append(ints, n.int64())
	}
	const most = 1<<63 - 1
	for _, d := range []string{
		cmp.Diff([]int64{1, 2, 3, 0, 0, 1, 0, most, most}, ints), cmp.Diff(list[string]{"x", "y"}, got.A), cmp.Diff(list[string]{"x"}, got.B),
		cmp.Diff(0, len(got.C)), cmp.Diff(wrapped[int]{1, 2}, got.D), cmp.Diff(wrapped[int]{3}, got.E), cmp.Diff(wrapped[int]{4}, got.F),
		cmp.Diff(0, len(got.G)), cmp.Diff([]text{"a", "1", "", "true"}, got.T), cmp.Diff([]rawPriority{3, 4, 5}, got.P), cmp.Diff(0, len(got.X)),
	} {
		if d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	var n number
	for _, bad := range []string{`"ten"`, `{}`, `[1]`, `"0x10"`, `"1_0"`} {
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s is read as %v", bad, n)
		}
	}
}

// Nothing that a server sends makes the readers panic or hang.
func FuzzREST(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 10000 {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":{"type":"capacitySchedulerLeafQueueInfo","queueName":"a","users":{"user":{"username":"u"}}}}}}}`))
	f.Add([]byte(`{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":[{"queueName":"root.a","clusterResources":{"memory":"1"}}]}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var all struct {
			Scheduler struct {
				Info json.RawMessage `json:"schedulerInfo"`
			} `json:"scheduler"`
			App        rawApp            `json:"app"`
			Activities list[rawActivity] `json:"activities"`
			AppActs    rawActivity       `json:"appActivities"`
			Nodes      struct {
				Node list[rawNode] `json:"node"`
			} `json:"nodes"`
		}
		if decode(b, &all) != nil {
			return
		}
		if s, err := parseScheduler(all.Scheduler.Info); err == nil {
			s.Leaves()
			s.Find("default")
		}
		_, _ = all.App.app()
		for _, n := range all.Nodes.Node {
			n.node()
		}
		for _, a := range append(all.Activities, all.AppActs) {
			for _, one := range a.flatten(Activity{}).List {
				_ = one.String()
			}
		}
	})
}
