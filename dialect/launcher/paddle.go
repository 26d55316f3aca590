package launcher

import "slices"

// paddle stays, once in each task: framework/paddle gives it what was taken off
// its line by variables, which win over its options.
var paddle = &launcher{name: "paddle.distributed.launch", framework: "paddle", read: readPaddle, table: table{short: true, options: []option{
	{names: "--nnodes", values: 1, use: take},
	{names: "--nproc-per-node", values: 1, use: take},
	{names: "--max-restart", values: 1, use: take},
	{names: "--run-mode", values: 1, use: take},
	{names: "--server-num --trainer-num --servers --trainers", values: 1, use: take},
	{names: "--devices --gpus --xpus --npus --ipus", values: 1, use: drop, why: "muster chooses the devices"},
	{names: "--master --ips --host --start-port", values: 1, use: drop, why: whyEndpoint},
	{names: "--rank", values: 1, use: drop, why: whyRank},
	{names: "--job-id", values: 1, use: drop, why: whyID},
	{names: "--elastic-level --elastic-timeout", values: 1, use: drop, why: "instances MIN..MAX of the role makes it elastic"},
	{names: "--log-dir --log-level --log-overwrite --sort-ip --enable-gpu-log --legacy --gloo-port --with-gloo", values: 1, use: keep},
	{names: "--auto-parallel-config --auto-tuner-json --auto-cluster-config", values: 1, use: keep},
	{names: "-h --help", use: keep},
}}}

func readPaddle(r *reader) {
	r.taken(func(g *given) string {
		switch g.first() {
		case "--nnodes":
			return r.nodes(g)
		case "--nproc-per-node":
			r.say("procs", g)
			return number(g, &r.Procs)
		case "--max-restart":
			return r.restarts(g)
		case "--run-mode":
			g.stays = true
			if slices.Contains([]string{"ps", "ps-heter", "rpc"}, g.values[0].Text) {
				r.alone = g.String() + ": it would start servers and trainers of its own; roles ps and worker are muster's"
			}
		case "--server-num":
			r.alone = g.String() + ": it would start servers and trainers of its own; roles ps and worker are muster's"
		}
		return ""
	})
}
