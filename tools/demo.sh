#!/usr/bin/env bash
# demo.sh   trains a small model with four PyTorch ranks on this machine, and
#           says where to look afterwards
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
cd "$root"

python=$(bash test/python/torch.sh)
say ""
say "\$ bin/muster run --python $python examples/pytorch-ddp/job.yaml"
status=0
bin/muster run --python "$python" examples/pytorch-ddp/job.yaml || status=$?

say ""
if [ "$status" = 0 ]; then
	say "Two tasks with two ranks each learned to read handwritten digits, in $PWD/examples/pytorch-ddp."
else
	say "The demo failed with status $status."
fi
say "Look closer, with the newest job or with its id:"
say "  bin/muster ps -a        all jobs, also those that have ended"
say "  bin/muster status       the job, its tasks, its verdict"
say "  bin/muster logs         what every rank printed"
say "  bin/muster events       its history, fact by fact"
say "  bin/muster plan examples/tensorflow-ps/job.yaml   what another example would run"

# "run" started a server for this user, which would end by itself after a
# while. Whoever needs one later starts the next.
bin/muster serve --stop >/dev/null 2>&1 || true
exit "$status"
