package wire

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// fill sets every field below v to a value that differs from zero and from all
// others, so that a field which a conversion forgets, or swaps, is seen.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1700000000+int64(*n), int64(*n))))
			return
		}
		for _, field := range v.Fields() {
			fill(t, field, n)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{byte(*n), 0, 0xff})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, n)
			fill(t, value, n)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + " é,\n\"\xff" + time.Duration(*n).String()) // not UTF-8 on purpose
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) << 33)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	default:
		t.Fatalf("%s: no value for it", v.Type())
	}
}

// each calls f with every alternative of a struct whose fields are pointers,
// filled.
func each[T any](t *testing.T, f func(t *testing.T, name string, v T)) {
	kind := reflect.TypeFor[T]()
	for i := range kind.NumField() {
		v := reflect.New(kind).Elem()
		n := 0
		fill(t, v.Field(i), &n)
		f(t, kind.Field(i).Name, v.Interface().(T))
	}
}

// travel writes m as a frame and reads it back.
func travel[M proto.Message](t *testing.T, m, into M) M {
	t.Helper()
	frame, err := encode(m, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(bytes.NewReader(frame), into, 1<<20); err != nil {
		t.Fatal(err)
	}
	return into
}

// unsaid is what no executor says of an end: whether a slot was taken from it
// without its fault, its backend knows.
var unsaid = cmpopts.IgnoreFields(event.Exit{}, "Blameless")

func TestEveryFieldOfEveryMessageArrives(t *testing.T) {
	each(t, func(t *testing.T, name string, want Message) {
		up := messageUp(want)
		if up == nil {
			t.Fatalf("%s: not converted", name)
		}
		got, ok := messageIn(travel(t, up, new(pb.Up)))
		if diff := cmp.Diff(want, got, unsaid); !ok || diff != "" {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	})
	each(t, func(t *testing.T, name string, want Directive) {
		down := directiveDown(want)
		if down == nil {
			t.Fatalf("%s: not converted", name)
		}
		got, ok := directiveIn(travel(t, down, new(pb.Down)))
		if diff := cmp.Diff(want, got, unsaid); !ok || diff != "" {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	})
	var hello Hello
	n := 0
	fill(t, reflect.ValueOf(&hello).Elem(), &n)
	if diff := cmp.Diff(hello, helloIn(travel(t, helloUp(hello), new(pb.Up)).GetHello()), unsaid); diff != "" {
		t.Error("hello:", diff)
	}
	var welcome Welcome
	fill(t, reflect.ValueOf(&welcome).Elem(), &n)
	down := &pb.Down{Kind: &pb.Down_Welcome{Welcome: welcomeDown(welcome)}}
	if diff := cmp.Diff(welcome, welcomeIn(travel(t, down, new(pb.Down)).GetWelcome()), unsaid); diff != "" {
		t.Error("welcome:", diff)
	}
}

func TestTheZeroMessageArrivesAsItIs(t *testing.T) {
	tc := map[string]Message{
		"registered": {Registered: &Registered{}},
		"beat":       {Beat: &Beat{}},
		"exited":     {Exited: &Exited{}},
	}
	for name, want := range tc {
		got, ok := messageIn(travel(t, messageUp(want), new(pb.Up)))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	}
}

func TestAnEmptyMessageIsRefusedBeforeItIsSent(t *testing.T) {
	if messageUp(Message{}) != nil || directiveDown(Directive{}) != nil {
		t.Error("an empty message was converted")
	}
}

// F-085: arguments arrive unchanged, whatever signs they hold.
func TestF085ArgumentsArriveUnchanged(t *testing.T) {
	want := []string{"a b", `a"b`, "it’s", "$HOME", "*.py", "(x)", "line\nbreak", "", `back\`, "é", "--weird=1;2", "\xff\xfe"}
	d := directiveDown(Directive{Start: &Start{Launch: plan.Launch{Argv: want}}})
	got, _ := directiveIn(travel(t, d, new(pb.Down)))
	if diff := cmp.Diff(want, got.Start.Launch.Argv); diff != "" {
		t.Error(diff)
	}
}
