package wire

import (
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

func helloUp(h Hello) *pb.Up {
	return &pb.Up{Kind: &pb.Up_Hello{Hello: &pb.Hello{
		Version: Version, Binary: h.Binary, Job: h.Job, Slot: h.Slot, Role: h.Task.Role, Index: int64(h.Task.Index),
		Control: h.Control, Host: h.Host, Pid: int64(h.PID), Term: h.Term, Incarnation: int64(h.Incarnation),
		Phase: string(h.Phase), Ports: counts(h.Ports), Pids: longs(h.PIDs), Ready: h.Ready, Exit: exitOut(h.Exit),
	}}}
}

func helloIn(h *pb.Hello) Hello {
	return Hello{
		Job: h.GetJob(), Slot: h.GetSlot(), Task: plan.TaskID{Role: h.GetRole(), Index: int(h.GetIndex())},
		Binary: h.GetBinary(), Control: h.GetControl(), Host: h.GetHost(), PID: int(h.GetPid()), Term: h.GetTerm(),
		Incarnation: int(h.GetIncarnation()), Phase: Phase(h.GetPhase()), Ports: numbers(h.GetPorts()),
		PIDs: ints(h.GetPids()), Ready: h.GetReady(), Exit: exitIn(h.GetExit()),
	}
}

// messageUp gives nil for a message without content.
func messageUp(m Message) *pb.Up {
	switch {
	case m.Registered != nil:
		r := m.Registered
		return &pb.Up{Kind: &pb.Up_Registered{Registered: &pb.Registered{
			Incarnation: int64(r.Incarnation), Host: r.Host, Ports: counts(r.Ports), Exit: exitOut(r.Exit)}}}
	case m.Started != nil:
		return &pb.Up{Kind: &pb.Up_Started{Started: &pb.Started{
			Incarnation: int64(m.Started.Incarnation), Pids: longs(m.Started.PIDs)}}}
	case m.Ready != nil:
		return &pb.Up{Kind: &pb.Up_Ready{Ready: &pb.Ready{Incarnation: int64(m.Ready.Incarnation)}}}
	case m.Beat != nil:
		b := m.Beat
		return &pb.Up{Kind: &pb.Up_Beat{Beat: &pb.Beat{
			Incarnation: int64(b.Incarnation), Sent: nanos(b.Sent), Usage: usageOut(b.Usage), Progress: progressOut(b.Progress)}}}
	case m.Published != nil:
		return &pb.Up{Kind: &pb.Up_Published{Published: &pb.Published{Key: m.Published.Key, Value: m.Published.Value}}}
	case m.Exited != nil:
		return &pb.Up{Kind: &pb.Up_Exited{Exited: &pb.Exited{
			Incarnation: int64(m.Exited.Incarnation), Exit: exitOut(&m.Exited.Exit)}}}
	case m.Signalled != nil:
		return &pb.Up{Kind: &pb.Up_Signalled{Signalled: &pb.Signalled{Request: m.Signalled.Request, Error: m.Signalled.Error}}}
	}
	return nil
}

// messageIn says false for a frame that is no message, or one of a newer minor
// version: the reader passes over it.
func messageIn(u *pb.Up) (Message, bool) {
	switch k := u.GetKind().(type) {
	case *pb.Up_Registered:
		r := k.Registered
		return Message{Registered: &Registered{Incarnation: int(r.GetIncarnation()), Host: r.GetHost(),
			Ports: numbers(r.GetPorts()), Exit: exitIn(r.GetExit())}}, true
	case *pb.Up_Started:
		return Message{Started: &Started{Incarnation: int(k.Started.GetIncarnation()), PIDs: ints(k.Started.GetPids())}}, true
	case *pb.Up_Ready:
		return Message{Ready: &Ready{Incarnation: int(k.Ready.GetIncarnation())}}, true
	case *pb.Up_Beat:
		b := k.Beat
		return Message{Beat: &Beat{Incarnation: int(b.GetIncarnation()), Sent: moment(b.GetSent()),
			Usage: usageIn(b.GetUsage()), Progress: progressIn(b.GetProgress())}}, true
	case *pb.Up_Published:
		return Message{Published: &Published{Key: k.Published.GetKey(), Value: k.Published.GetValue()}}, true
	case *pb.Up_Exited:
		e := exitIn(k.Exited.GetExit())
		if e == nil {
			e = new(event.Exit)
		}
		return Message{Exited: &Exited{Incarnation: int(k.Exited.GetIncarnation()), Exit: *e}}, true
	case *pb.Up_Signalled:
		return Message{Signalled: &Signalled{Request: k.Signalled.GetRequest(), Error: k.Signalled.GetError()}}, true
	}
	return Message{}, false
}

func exitOut(e *event.Exit) *pb.Exit {
	if e == nil {
		return nil
	}
	return &pb.Exit{Class: string(e.Class), Status: int64(e.Status), Signal: e.Signal, Proc: int64(e.Proc),
		Stopped: e.Stopped, At: nanos(e.At), Text: e.Text, Symptom: e.Symptom, Stderr: e.Stderr}
}

func exitIn(e *pb.Exit) *event.Exit {
	if e == nil {
		return nil
	}
	return &event.Exit{Class: event.Class(e.GetClass()), Status: int(e.GetStatus()), Signal: e.GetSignal(),
		Proc: int(e.GetProc()), Stopped: e.GetStopped(), At: moment(e.GetAt()), Text: e.GetText(),
		Symptom: e.GetSymptom(), Stderr: e.GetStderr()}
}

func usageOut(u Usage) *pb.Usage {
	return &pb.Usage{Cpu: int64(u.CPU), Memory: u.Memory, Procs: int64(u.Procs), Gpu: longs(u.GPU)}
}

func usageIn(u *pb.Usage) Usage {
	return Usage{CPU: span(u.GetCpu()), Memory: u.GetMemory(), Procs: int(u.GetProcs()), GPU: ints(u.GetGpu())}
}

func progressOut(p *event.Progress) *pb.Progress {
	if p == nil {
		return nil
	}
	return &pb.Progress{Step: p.Step, Total: p.Total, Values: p.Values, Text: p.Text, StepTime: p.StepTime}
}

func progressIn(p *pb.Progress) *event.Progress {
	if p == nil {
		return nil
	}
	return &event.Progress{Step: p.GetStep(), Total: p.GetTotal(), Values: p.GetValues(), Text: p.GetText(), StepTime: p.GetStepTime()}
}
