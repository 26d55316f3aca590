package yarn

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/plan"
)

// application is what the resource manager is told of a job, without the id
// that it gives to it.
type application struct {
	Name        string        `json:"name"`
	Type        string        `json:"type"`
	Queue       string        `json:"queue"`
	Priority    int           `json:"priority"`
	Tags        []string      `json:"tags"`
	MaxAttempts int           `json:"max_attempts"`
	Keep        bool          `json:"keep_containers"`
	Size        Size          `json:"coordinator"`
	Label       string        `json:"coordinator_label,omitempty"` // empty leaves it to the queue
	Lifetime    time.Duration `json:"lifetime_ns,omitempty"`
	LogInclude  string        `json:"log_include,omitempty"`
	LogExclude  string        `json:"log_exclude,omitempty"`
	Reservation string        `json:"reservation,omitempty"`
}

// validity is how long a coordinator's death counts: one that dies once a day
// may do so for ever.
const validity = time.Hour

// applicationOf is the application of a plan. ticket is the first application
// of the job if this one takes its place over.
func applicationOf(p *plan.Plan, s *Settings, partitions []string, ticket string) application {
	a := application{
		Name: p.Name, Type: AppType, Queue: queueOf(p), Priority: p.Priority,
		Tags:        append([]string{Tag(p.ID)}, s.Tags...),
		MaxAttempts: s.MaxAttempts, Keep: true, Size: s.Coordinator, Label: s.MasterLabel,
		Lifetime: s.Lifetime, LogInclude: s.LogInclude, LogExclude: s.LogExclude, Reservation: s.Reservation,
	}
	if len(partitions) != 1 || partitions[0] != "" {
		a.Tags = append(a.Tags, PartitionTag(partitions))
	}
	if ticket != "" {
		a.Tags = append(a.Tags, TicketTag(ticket))
	}
	return a
}

// queueOf is the queue that a plan names, or the one that every cluster has.
func queueOf(p *plan.Plan) string {
	if p.Queue == "" {
		return "default"
	}
	return p.Queue
}

// proto gives the application its id and its container.
func (a application) proto(id *yarnpb.ApplicationId, c *yarnpb.ContainerLaunchContext) (*yarnpb.ApplicationSubmissionContext, error) {
	out := &yarnpb.ApplicationSubmissionContext{
		ApplicationId: id, Name: &a.Name, Queue: &a.Queue, ApplicationType: &a.Type, Tags: a.Tags,
		Priority: &yarnpb.Priority{Priority: new(int32(a.Priority))}, AmContainerSpec: c,
		MaxAppAttempts: new(int32(a.MaxAttempts)), KeepContainers: &a.Keep, Resource: a.Size.Proto(),
		AttemptFailuresValidityMs: new(validity.Milliseconds()),
	}
	if a.Label != "" {
		out.AmResourceRequests = []*yarnpb.ResourceRequest{{
			Priority: &yarnpb.Priority{Priority: new(int32(0))}, ResourceName: new("*"), Capability: a.Size.Proto(),
			NumContainers: new(int32(1)), RelaxLocality: new(true), NodeLabelExpression: &a.Label,
			AllocationRequestId: new(int64(-1)),
		}}
	}
	if a.Lifetime > 0 {
		out.Timeouts = []*yarnpb.AppTimeout{{Type: yarnpb.TimeoutType_LIFETIME.Enum(), Seconds: new(int64(a.Lifetime / time.Second))}}
	}
	if a.LogInclude != "" || a.LogExclude != "" {
		l := &yarnpb.LogAggregationContext{}
		if a.LogInclude != "" {
			l.Include = &a.LogInclude
		}
		if a.LogExclude != "" {
			l.Exclude = &a.LogExclude
		}
		out.LogAggregation = l
	}
	if a.Reservation != "" {
		r, err := parseReservation(a.Reservation)
		if err != nil {
			return nil, err
		}
		out.ReservationId = r
	}
	return out, nil
}

var reservationText = regexp.MustCompile(`^reservation_([0-9]{1,18})_([0-9]{1,18})$`)

func parseReservation(text string) (*yarnpb.ReservationId, error) {
	m := reservationText.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%q is not a reservation id: write it as YARN prints it, reservation_1796072023316_0001", text)
	}
	cluster, _ := strconv.ParseInt(m[1], 10, 64) // digits that fit
	id, _ := strconv.ParseInt(m[2], 10, 64)
	return &yarnpb.ReservationId{Id: &id, ClusterTimestamp: &cluster}, nil
}
