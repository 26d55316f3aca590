"""Learn to read handwritten digits on several workers at once."""

import sys

import muster  # every task finds it
import tensorflow as tf

import model

EPOCHS, BATCH = 10, 32

# First of all: this is where the workers find each other, by TF_CONFIG.
options = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
rank, world = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
x, y, test_x, test_y = model.digits()
x, y = x[rank::world], y[rank::world]  # each worker learns from its own share
batches = 1437 // world // BATCH  # the same number on every worker
with strategy.scope():
    net = model.Net()


@tf.function
def step(picks):
    """One batch on every worker; the gradients are averaged over all of them."""

    def replica():
        loss, gradients = net.gradients(tf.gather(x, picks), tf.gather(y, picks))
        context = tf.distribute.get_replica_context()
        for weight, gradient in zip(net.weights, context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)):
            weight.assign_sub(0.3 * gradient)
        return loss

    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica), axis=None)


for number in range(1, EPOCHS + 1):
    order = tf.random.shuffle(tf.range(len(x)))[: batches * BATCH]
    loss = float(sum(step(picks) for picks in tf.split(order, batches))) / batches
    if rank == 0:
        print(f"epoch {number:2} of {EPOCHS}: loss {loss:.4f}", flush=True)
        muster.report(step=number, total=EPOCHS, loss=loss)

digest, accuracy = model.test(net, test_x, test_y)
print(f"rank {rank}: weights {digest}, accuracy {accuracy:.3f}", flush=True)
sys.exit(accuracy < 0.90)
