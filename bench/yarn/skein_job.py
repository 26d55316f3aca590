"""skein_job.py N SCRIPT: runs N tasks on YARN through Skein, and waits for their end."""
import sys
import time

import skein

count, script = sys.argv[1:]
spec = skein.ApplicationSpec(
    name="bench",
    queue="default",
    master=skein.Master(resources=skein.Resources(memory="512 MiB", vcores=1)),
    services={
        "task": skein.Service(
            instances=int(count),
            resources=skein.Resources(memory="256 MiB", vcores=1),
            script=script,
        )
    },
)
with skein.Client() as client:
    app = client.submit(spec)
    while True:
        report = client.application_report(app)
        if str(report.final_status).lower() != "undefined":
            break
        time.sleep(0.1)
print(app, report.final_status)
sys.exit(str(report.final_status).lower() != "succeeded")
