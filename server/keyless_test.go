package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// Who may see a job of somebody else's does not get the key of its notebook, by
// which they could do everything in its owner's name.
func TestKeysOfAddressesStayTheOwners(t *testing.T) {
	v := session.View{Tasks: []session.TaskView{{Published: map[string]string{"notebook": "http://n1:8888/?token=key", "note": "what? this"}}, {}}}
	want := []session.TaskView{{Published: map[string]string{"notebook": "http://n1:8888/", "note": "what? this"}}, {}}
	if diff := cmp.Diff(want, keyless(v).Tasks); diff != "" {
		t.Error(diff)
	}
	if v.Tasks[0].Published["notebook"] != "http://n1:8888/?token=key" {
		t.Error("the owner's own view has changed")
	}
	e := event.Event{Body: &event.TaskPublished{Key: "notebook", Value: "https://n1/?token=key"}}
	if got := keylessEvent(e).Body.(*event.TaskPublished).Value; got != "https://n1/" {
		t.Errorf("event says %q", got)
	}
	if e.Body.(*event.TaskPublished).Value != "https://n1/?token=key" {
		t.Error("the journal's own event has changed")
	}
}
