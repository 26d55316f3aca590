package yarn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// ErrNoQueue: the scheduler has no queue of that name.
var ErrNoQueue = errors.New("no such queue")

// queueAnswer tells an unknown queue from other failures: schedulers and versions
// answer it in different ways.
func queueAnswer(name string, q *yarnpb.QueueInfo, err error) (*yarnpb.QueueInfo, error) {
	switch {
	case err == nil && q.GetName() != "":
		return q, nil
	case err == nil, strings.Contains(message(err), "Unknown queue"), strings.Contains(message(err), "does not exist"):
		return nil, fmt.Errorf("%s: %w", name, ErrNoQueue)
	}
	return nil, err
}

// SameQueue compares queue names: "root.default" and "default" are one.
func SameQueue(a, b string) bool {
	return a == b || leaf(a) == leaf(b) && (leaf(a) == a || leaf(b) == b)
}

func leaf(queue string) string { return queue[strings.LastIndexByte(queue, '.')+1:] }

// Partition is what a queue has in one label's partition; "" is the default one.
// The FairScheduler and old clusters tell none: then nil.
func Partition(q *yarnpb.QueueInfo, label string) *yarnpb.QueueConfiguration {
	for _, p := range q.GetPartitions() {
		if p.GetPartition() == label {
			return p.GetConfiguration()
		}
	}
	return nil
}
