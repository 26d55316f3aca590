package yarn

import (
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

func (w *why) stopped() {
	if w.queue != nil && w.queue.State != "" && w.queue.State != queueRunning {
		w.add(reasonQueueStopped, nil, "ask an administrator to start it, or stop the job and submit it to another queue",
			"queue %s is %s", w.Queue, strings.ToLower(w.queue.State))
	}
}

// masters says what keeps the coordinator's own container back, beside room.
func (w *why) masters() {
	q := w.queue
	if q == nil || len(w.Wants) == 0 {
		return
	}
	am := w.Wants[0]
	if q.MaxParallel > 0 && q.MaxParallel < hadoop.Unlimited && q.Running >= q.MaxParallel {
		w.add(reasonTooManyJobs, map[string]float64{"running": float64(q.Running), "most": float64(q.MaxParallel)}, "wait until one has ended, or use another queue",
			"queue %s runs %d jobs, its most at the same time is %d", w.Queue, q.Running, q.MaxParallel)
	}
	part := q.Partitions[am.label]
	if u, ok := user(q, w.User); ok && w.exceeds(u.AMUsed, am.size, part.UserAMLimit) && strings.Contains(w.Diagnostic, "User's AM resource limit") {
		names := w.over(u.AMUsed, am.size, part.UserAMLimit)
		w.add(reasonUserMasters, numbers(map[string]Size{"used": u.AMUsed, "limit": part.UserAMLimit, "asked": am.size}, names),
			"wait until one of your jobs in it has ended, use another queue, or make coordinators smaller: native.yarn.am.memory",
			"the coordinators of %s in queue %s hold %s of the %s that those of one user may have together; this one needs %s",
			w.User, w.Queue, only(u.AMUsed, names), only(part.UserAMLimit, names), only(am.size, names))
		return
	}
	// The first application is let in whatever it needs.
	if q.Running > 0 && w.exceeds(part.AMUsed, am.size, part.AMLimit) || strings.Contains(w.Diagnostic, "AM resource limit exceeded") {
		names := w.over(part.AMUsed, am.size, part.AMLimit)
		w.add(reasonMasters, numbers(map[string]Size{"used": part.AMUsed, "limit": part.AMLimit, "asked": am.size}, names),
			"wait until one of its jobs has ended, use another queue, make coordinators smaller (native.yarn.am.memory), or ask an administrator for a higher maximum-am-resource-percent",
			"the coordinators of queue %s hold %s of the %s that they may have together; this one needs %s",
			w.Queue, only(part.AMUsed, names), only(part.AMLimit, names), only(am.size, names))
	}
}

// shares compares what is lacked with what queue and user may have.
func (w *why) shares(l lack) {
	if w.queue == nil {
		return
	}
	part := w.queue.Partitions[l.label]
	if w.exceeds(part.Used, l.total, part.Max) {
		names := w.over(part.Used, l.total, part.Max)
		n := numbers(map[string]Size{"used": part.Used, "maximum": part.Max, "asked": l.total}, names)
		if w.exceeds(Size{}, l.total, part.Max) {
			w.add(reasonTooMuch, n, "submit it again with fewer or smaller tasks, or to another queue",
				"%s need %s, queue %s has at most %s%s", l.text(), only(l.total, names), w.Queue, only(part.Max, names), in(l.label))
		} else {
			w.add(reasonQueueMaximum, n, "wait until other jobs of the queue have ended, or use another queue",
				"queue %s uses %s of at most %s%s; %s need %s more", w.Queue, only(part.Used, names), only(part.Max, names), in(l.label), l.text(), only(l.total, names))
		}
	}
	u, ok := user(w.queue, w.User)
	if !ok || u.Limit.IsZero() || l.label != "" {
		return
	}
	used := u.Used
	if part, known := u.Partitions[l.label]; known {
		used = part
	}
	// A user may pass the limit by one container, so what is asked says nothing.
	if names := w.over(used, l.total, u.Limit); w.said("User capacity has reached its maximum limit") || w.exceeds(used, Size{}, u.Limit) {
		w.add(reasonUserLimit, numbers(map[string]Size{"used": used, "limit": u.Limit, "asked": l.total}, names),
			"wait until jobs of yours have ended, use another queue, or ask an administrator for a higher user-limit-factor",
			"%s has %s of the %s that one user of queue %s may have at present; %s need %s more", w.User, only(used, names), only(u.Limit, names), w.Queue, l.text(), only(l.total, names))
	}
}
