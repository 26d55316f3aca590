package wire

import (
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

func welcomeDown(w Welcome) *pb.Welcome {
	return &pb.Welcome{Version: Version, Term: w.Term, Beat: int64(w.Beat), Lease: int64(w.Lease), Now: nanos(w.Now)}
}

func welcomeIn(w *pb.Welcome) Welcome {
	return Welcome{Term: w.GetTerm(), Beat: span(w.GetBeat()), Lease: span(w.GetLease()), Now: moment(w.GetNow())}
}

// directiveDown gives nil for a directive without content.
func directiveDown(d Directive) *pb.Down {
	switch {
	case d.Prepare != nil:
		p := &pb.Prepare{Incarnation: int64(d.Prepare.Incarnation), Epoch: int64(d.Prepare.Epoch)}
		for _, port := range d.Prepare.Ports {
			p.Ports = append(p.Ports, &pb.Port{Name: port.Name, Number: int64(port.Number), Store: port.Store})
		}
		return &pb.Down{Kind: &pb.Down_Prepare{Prepare: p}}
	case d.Start != nil:
		return &pb.Down{Kind: &pb.Down_Start{Start: &pb.Start{Incarnation: int64(d.Start.Incarnation),
			Epoch: int64(d.Start.Epoch), Launch: launchOut(d.Start.Launch)}}}
	case d.Stop != nil:
		s := d.Stop
		return &pb.Down{Kind: &pb.Down_Stop{Stop: &pb.Stop{Incarnation: int64(s.Incarnation), Signal: s.Signal,
			Grace: int64(s.Grace), Now: s.Now, Reason: s.Reason}}}
	case d.Signal != nil:
		s := d.Signal
		return &pb.Down{Kind: &pb.Down_Signal{Signal: &pb.Signal{Request: s.Request, Incarnation: int64(s.Incarnation), Signal: s.Signal}}}
	case d.Preempt != nil:
		p := d.Preempt
		return &pb.Down{Kind: &pb.Down_Preempt{Preempt: &pb.Preempt{Incarnation: int64(p.Incarnation), Signal: p.Signal,
			Before: int64(p.Before), Deadline: nanos(p.Deadline), Reason: p.Reason}}}
	case d.Credentials != nil:
		return &pb.Down{Kind: &pb.Down_Credentials{Credentials: &pb.Credentials{Serial: d.Credentials.Serial, Data: d.Credentials.Data}}}
	case d.Quit != nil:
		return &pb.Down{Kind: &pb.Down_Quit{Quit: &pb.Quit{Reason: d.Quit.Reason}}}
	case d.OpenLog != nil:
		o := d.OpenLog
		return &pb.Down{Kind: &pb.Down_OpenLog{OpenLog: &pb.OpenLog{Stream: o.Stream, Incarnation: int64(o.Incarnation),
			Name: o.Name, Offset: o.Offset, Follow: o.Follow, Timed: o.Timed}}}
	}
	return nil
}

// directiveIn says false for a frame that is no directive, or one of a newer
// minor version: the reader passes over it.
func directiveIn(d *pb.Down) (Directive, bool) {
	switch k := d.GetKind().(type) {
	case *pb.Down_Prepare:
		p := &Prepare{Incarnation: int(k.Prepare.GetIncarnation()), Epoch: int(k.Prepare.GetEpoch())}
		for _, port := range k.Prepare.GetPorts() {
			p.Ports = append(p.Ports, plan.Port{Name: port.GetName(), Number: int(port.GetNumber()), Store: port.GetStore()})
		}
		return Directive{Prepare: p}, true
	case *pb.Down_Start:
		return Directive{Start: &Start{Incarnation: int(k.Start.GetIncarnation()), Epoch: int(k.Start.GetEpoch()),
			Launch: launchIn(k.Start.GetLaunch())}}, true
	case *pb.Down_Stop:
		s := k.Stop
		return Directive{Stop: &Stop{Incarnation: int(s.GetIncarnation()), Signal: s.GetSignal(), Grace: span(s.GetGrace()),
			Now: s.GetNow(), Reason: s.GetReason()}}, true
	case *pb.Down_Signal:
		s := k.Signal
		return Directive{Signal: &Signal{Request: s.GetRequest(), Incarnation: int(s.GetIncarnation()), Signal: s.GetSignal()}}, true
	case *pb.Down_Preempt:
		p := k.Preempt
		return Directive{Preempt: &Preempt{Incarnation: int(p.GetIncarnation()), Signal: p.GetSignal(), Before: span(p.GetBefore()),
			Deadline: moment(p.GetDeadline()), Reason: p.GetReason()}}, true
	case *pb.Down_Credentials:
		return Directive{Credentials: &Credentials{Serial: k.Credentials.GetSerial(), Data: k.Credentials.GetData()}}, true
	case *pb.Down_Quit:
		return Directive{Quit: &Quit{Reason: k.Quit.GetReason()}}, true
	case *pb.Down_OpenLog:
		o := k.OpenLog
		return Directive{OpenLog: &OpenLog{Stream: o.GetStream(), Incarnation: int(o.GetIncarnation()), Name: o.GetName(),
			Offset: o.GetOffset(), Follow: o.GetFollow(), Timed: o.GetTimed()}}, true
	}
	return Directive{}, false
}

func launchOut(l plan.Launch) *pb.Launch {
	out := &pb.Launch{Argv: l.Argv, Env: l.Env, Defaults: l.Default, Expand: l.Expand, Files: l.Files, Publish: l.Publish}
	for _, vars := range l.Procs {
		out.Procs = append(out.Procs, &pb.Vars{Values: vars})
	}
	for name, p := range l.Peers {
		if out.Peers == nil {
			out.Peers = map[string]*pb.Peer{}
		}
		out.Peers[name] = &pb.Peer{Role: p.Task.Role, Index: int64(p.Task.Index), Incarnation: int64(p.Incarnation), Control: p.Control}
	}
	return out
}

func launchIn(l *pb.Launch) plan.Launch {
	out := plan.Launch{Argv: l.GetArgv(), Env: l.GetEnv(), Default: l.GetDefaults(), Expand: l.GetExpand(), Files: l.GetFiles(), Publish: l.GetPublish()}
	for _, vars := range l.GetProcs() {
		out.Procs = append(out.Procs, vars.GetValues())
	}
	for name, p := range l.GetPeers() {
		if out.Peers == nil {
			out.Peers = map[string]plan.Peer{}
		}
		out.Peers[name] = plan.Peer{Task: plan.TaskID{Role: p.GetRole(), Index: int(p.GetIndex())},
			Incarnation: int(p.GetIncarnation()), Control: p.GetControl()}
	}
	return out
}
