package executor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire"
)

// status is what a store answers; 0: nobody answers.
func status(t *testing.T, host string, port int, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nContent-Length: 0\r\n\r\n", request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Each incarnation has a store of its own, from the answer to the roll call to
// its end, in both families; it is no sign that the task is ready.
func TestAStoreIsServedAsLongAsAnIncarnationLives(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	ports := []plan.Port{{Name: "store", Store: true}, {Name: "main"}}

	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Epoch: 1, Ports: ports}})
	r := wait(d, registered(1))
	port := r.Ports["store"]
	var got []int
	for _, host := range []string{"127.0.0.1", "::1"} {
		got = append(got, status(t, host, port, "GET /s/k"), status(t, host, port, "PUT /s/k"), status(t, "127.0.0.1", port, "GET /s/k"))
		status(t, host, port, "DELETE /s/k")
	}
	if text := fmt.Sprint(got); text != "[404 200 200 404 200 200]" {
		t.Errorf("before the start: %s", text)
	}
	status(t, "127.0.0.1", port, "PUT /s/k")

	listen := strings.Join(self(t, "listen", fmt.Sprint(r.Ports["main"])), " ")
	d.send(wire.Directive{Start: &wire.Start{Incarnation: 1, Epoch: 1, Launch: shell(`sleep 0.5; touch late; exec ` + listen)}})
	wait(d, ready(1))
	if _, err := os.Stat(j.dir + "/tasks/worker-0/1/work/late"); err != nil {
		t.Errorf("the task was ready before it listened: %v", err)
	}
	if got := status(t, "127.0.0.1", port, "GET /s/k"); got != 200 {
		t.Errorf("while it runs: %d", got)
	}

	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 2, Epoch: 2, Ports: ports}})
	next := wait(d, registered(2)).Ports["store"]
	if got := status(t, "127.0.0.1", port, "GET /s/k"); got != 0 && port != next {
		t.Errorf("the store of the first incarnation still answers %d", got)
	}
	if got := status(t, "127.0.0.1", next, "GET /s/k"); got != 404 {
		t.Errorf("the next incarnation's store begins with %d", got)
	}
	d.send(wire.Directive{Stop: &wire.Stop{Incarnation: 2}})
	if x := wait(d, exitOf(2)).Exit; x.Class != event.ClassCancelled {
		t.Errorf("%+v", x)
	}
	if got := status(t, "127.0.0.1", next, "GET /s/k"); got != 0 {
		t.Errorf("after the end: %d", got)
	}
}

// A task that is given its ports free keeps its store.
func TestAPortThatIsLetGoIsNotTheStores(t *testing.T) {
	h, err := holdPorts(context.Background(), []plan.Port{{Name: "main"}, {Name: "store", Store: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	h.letGo()
	if err := plainBind(h.ports["main"]); err != nil {
		t.Errorf("main: %v", err)
	}
	if got := status(t, "127.0.0.1", h.ports["store"], "GET /s/k"); got != 404 {
		t.Errorf("store: %d", got)
	}
}

// A fixed number is a store's, too, and two do not share it.
func TestAStoreOnAPortOfItsOwn(t *testing.T) {
	free, err := holdPorts(context.Background(), []plan.Port{{Name: "any"}})
	if err != nil {
		t.Fatal(err)
	}
	number := free.ports["any"]
	free.close()
	want := []plan.Port{{Name: "store", Number: number, Store: true}}
	h, err := holdPorts(context.Background(), want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdPorts(context.Background(), want); err == nil {
		t.Error("the port was given twice")
	}
	h.close()
	h, err = holdPorts(context.Background(), want)
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	h.close()
}

// A program that wants the name of a network interface is told the one that the
// others reach this node by.
func TestTheInterfaceOfAHostIsTold(t *testing.T) {
	e := &executor{iface: func() string { return ifaceOf("127.0.0.1") }}
	l := plan.Launch{Env: map[string]string{"I": "${muster.iface}"}, Default: map[string]string{"D": "${muster.iface}"}}
	for _, name := range []string{"I", "D"} {
		if got, _ := lookup(t, e.environ("/d", "/w", l, 0), name); got != "lo" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := ifaceOf("192.0.2.7"); got != "" {
		t.Errorf("an address that is elsewhere is %q's", got)
	}
}

func TestAFileThatIsAScriptCanBeRun(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"script": []byte("#!/bin/sh\n"), "data": []byte("{}")}
	if err := write(dir, files, func(s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"script": 0o700, "data": 0o600} {
		if info, err := os.Stat(dir + "/" + name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
