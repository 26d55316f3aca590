package yarn

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// AppID names an application: application_<cluster>_<number>. Cluster is the
// start of the ResourceManager that made it, in ms since 1970; it changes when
// the ResourceManager restarts, so ids of one cluster differ in it.
type AppID struct {
	Cluster int64
	Number  int32
}

// AttemptID names one run of an application's master:
// appattempt_<cluster>_<number>_<attempt>.
type AttemptID struct {
	App    AppID
	Number int32
}

// ContainerID names a container: container_[e<epoch>_]<cluster>_<app>_<attempt>_<number>.
// Number is the whole 64 bits, with the epoch above the low 40: how often the
// ResourceManager had restarted.
type ContainerID struct {
	Attempt AttemptID
	Number  int64
}

const (
	epochShift = 40
	lowNumber  = 1<<epochShift - 1
	maxEpoch   = 1<<(63-epochShift) - 1
)

func (a AppID) String() string { return fmt.Sprintf("application_%d_%04d", a.Cluster, a.Number) }

func (a AttemptID) String() string {
	return fmt.Sprintf("appattempt_%d_%04d_%06d", a.App.Cluster, a.App.Number, a.Number)
}

func (c ContainerID) String() string {
	epoch := ""
	if e := c.Epoch(); e > 0 {
		epoch = fmt.Sprintf("e%02d_", e)
	}
	a := c.Attempt
	return fmt.Sprintf("container_%s%d_%04d_%02d_%06d", epoch, a.App.Cluster, a.App.Number, a.Number, c.Number&lowNumber)
}

// Epoch is how often the ResourceManager had restarted when it made the id.
func (c ContainerID) Epoch() int64 { return c.Number >> epochShift }

// IsZero tells that there is no id.
func (a AppID) IsZero() bool { return a == AppID{} }

// IsZero tells that there is no id.
func (a AttemptID) IsZero() bool { return a == AttemptID{} }

// IsZero tells that there is no id.
func (c ContainerID) IsZero() bool { return c == ContainerID{} }

// Compare orders ids by age, for one cluster.
func (a AppID) Compare(b AppID) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Number, b.Number))
}

// Compare orders ids by application, attempt and number.
func (c ContainerID) Compare(d ContainerID) int {
	return cmp.Or(c.Attempt.App.Compare(d.Attempt.App), cmp.Compare(c.Attempt.Number, d.Attempt.Number), cmp.Compare(c.Number, d.Number))
}

// Proto is the wire's form.
func (a AppID) Proto() *yarnpb.ApplicationId {
	return &yarnpb.ApplicationId{Id: proto.Int32(a.Number), ClusterTimestamp: proto.Int64(a.Cluster)}
}

// Proto is the wire's form.
func (a AttemptID) Proto() *yarnpb.ApplicationAttemptId {
	return &yarnpb.ApplicationAttemptId{ApplicationId: a.App.Proto(), AttemptId: proto.Int32(a.Number)}
}

// Proto is the wire's form.
func (c ContainerID) Proto() *yarnpb.ContainerId {
	return &yarnpb.ContainerId{AppId: c.Attempt.App.Proto(), AttemptId: c.Attempt.Proto(), Id: proto.Int64(c.Number)}
}

// AppOf reads the wire's form; nil gives the zero id.
func AppOf(p *yarnpb.ApplicationId) AppID {
	return AppID{Cluster: p.GetClusterTimestamp(), Number: p.GetId()}
}

// AttemptOf reads the wire's form; nil gives the zero id.
func AttemptOf(p *yarnpb.ApplicationAttemptId) AttemptID {
	return AttemptID{App: AppOf(p.GetApplicationId()), Number: p.GetAttemptId()}
}

// ContainerOf reads the wire's form; nil gives the zero id.
func ContainerOf(p *yarnpb.ContainerId) ContainerID {
	return ContainerID{Attempt: AttemptOf(p.GetAttemptId()), Number: p.GetId()}
}

// ParseApp reads "application_1700000000000_0001".
func ParseApp(s string) (AppID, error) {
	n, ok := numbers(s, "application_", 2)
	if !ok || !fits32(n[1]) {
		return AppID{}, fmt.Errorf("%q: not an application id such as application_1700000000000_0001", s)
	}
	return AppID{Cluster: n[0], Number: int32(n[1])}, nil
}

// ParseAttempt reads "appattempt_1700000000000_0001_000001".
func ParseAttempt(s string) (AttemptID, error) {
	n, ok := numbers(s, "appattempt_", 3)
	if !ok || !fits32(n[1]) || !fits32(n[2]) {
		return AttemptID{}, fmt.Errorf("%q: not an attempt id such as appattempt_1700000000000_0001_000001", s)
	}
	return AttemptID{App: AppID{Cluster: n[0], Number: int32(n[1])}, Number: int32(n[2])}, nil
}

// ParseContainer reads both forms, "container_1700000000000_0001_01_000002" and
// the one with an epoch, "container_e03_1700000000000_0001_01_000002".
func ParseContainer(s string) (ContainerID, error) {
	bad := fmt.Errorf("%q: not a container id such as container_1700000000000_0001_01_000002", s)
	rest, epoch := s, int64(0)
	if tail, ok := strings.CutPrefix(s, "container_e"); ok {
		head, ids, found := strings.Cut(tail, "_")
		n, valid := digits(head)
		if !found || !valid || n > maxEpoch {
			return ContainerID{}, bad
		}
		rest, epoch = "container_"+ids, n
	}
	n, ok := numbers(rest, "container_", 4)
	if !ok || !fits32(n[1]) || !fits32(n[2]) || n[3] > lowNumber {
		return ContainerID{}, bad
	}
	return ContainerID{
		Attempt: AttemptID{App: AppID{Cluster: n[0], Number: int32(n[1])}, Number: int32(n[2])},
		Number:  epoch<<epochShift | n[3],
	}, nil
}

// MarshalText is String.
func (a AppID) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText is ParseApp.
func (a *AppID) UnmarshalText(b []byte) (err error) { *a, err = ParseApp(string(b)); return err }

// MarshalText is String.
func (c ContainerID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseContainer.
func (c *ContainerID) UnmarshalText(b []byte) (err error) {
	*c, err = ParseContainer(string(b))
	return err
}

// numbers reads exactly count numbers joined by "_" after the prefix.
func numbers(s, prefix string, count int) ([]int64, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, false
	}
	fields := strings.Split(rest, "_")
	if len(fields) != count {
		return nil, false
	}
	out := make([]int64, count)
	for i, f := range fields {
		if out[i], ok = digits(f); !ok {
			return nil, false
		}
	}
	return out, true
}

// digits reads decimal digits only: no sign, no blank.
func digits(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func fits32(n int64) bool { return n <= 1<<31-1 }
