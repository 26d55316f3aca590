package event

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

var day = time.Date(2026, time.November, 30, 10, 0, 0, 123456789, time.UTC)

// samples gives one event of every type with every field set, by reflection, so
// that a field which does not come back is found the day it is added.
func samples() []Event {
	var out []Event
	for i, b := range bodies {
		body := b()
		fill(reflect.ValueOf(body).Elem(), "")
		out = append(out, Event{Seq: int64(i + 1), Term: 1, At: day, Body: body})
	}
	return out
}

func tasksOf(id string, p Progress) map[plan.TaskID]Progress {
	task, err := plan.ParseTask(id)
	if err != nil {
		panic(err)
	}
	return map[plan.TaskID]Progress{task: p}
}

// fill sets fields to small values that follow from their names, so that a new
// field changes no other value in the golden file.
func fill(v reflect.Value, path string) {
	n := number1to99(path)
	if special(v, n) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				fill(v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path+"[]")
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, path+"[key]")
		fill(value, path+"[value]")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(fmt.Sprintf("any %d", n)))
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint32:
		v.SetUint(uint64(n))
	default:
		panic("a sample of " + v.Type().String() + " is missing here")
	}
}

func number1to99(path string) int64 {
	h := fnv.New32a()
	h.Write([]byte(path))
	return int64(h.Sum32()%99) + 1
}

// special fills what has a spelling of its own.
func special(v reflect.Value, n int64) bool {
	switch p := v.Addr().Interface().(type) {
	case *spec.Progress: // off or patterns, never both
		*p = spec.Progress{Patterns: []string{fmt.Sprintf("(?P<text>%d)", n)}}
	case *spec.People: // all or some, never both
		*p = spec.People{Users: []string{fmt.Sprintf("user%d", n)}, Groups: []string{fmt.Sprintf("group%d", n)}}
	case *time.Time:
		*p = day.Add(time.Duration(n) * time.Second)
	case *time.Duration:
		*p = time.Duration(n) * time.Second
	case *json.RawMessage:
		*p = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
	case *plan.TaskID:
		*p = plan.TaskID{Role: "worker", Index: int(n)}
	case *spec.Duration:
		*p = spec.Duration(time.Duration(n) * time.Minute)
	case *spec.Size:
		*p = spec.Size(n << 20)
	case *spec.Count:
		*p = spec.Count{Min: int(n), Max: int(n) + 1}
	case *spec.Failures:
		*p = spec.Failures{Count: int(n)}
	case *spec.Command:
		*p = spec.Command{Argv: []string{"python", fmt.Sprintf("train %d.py", n)}}
	default:
		return false
	}
	return true
}

func TestSamplesLeaveNoFieldOfAnyTypeUnset(t *testing.T) {
	for _, e := range samples() {
		v := reflect.ValueOf(e.Body).Elem()
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s: %s is zero", e.Body.Type(), v.Type().Field(i).Name)
			}
		}
	}
}
