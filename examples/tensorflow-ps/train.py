"""Learn to read handwritten digits by way of a parameter server."""

import os
import sys

import muster  # every task finds it
import tensorflow as tf

import model

STEPS, BATCH = 300, 64


def serve(cluster):
    """A worker and a ps do what the chief asks for, until they are stopped."""
    tf.distribute.Server(cluster.cluster_spec(), cluster.task_type, cluster.task_id, protocol="grpc").join()


def train(cluster):
    """The chief holds no variable and computes nothing: it hands out steps."""
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    x, y, test_x, test_y = model.digits()
    with strategy.scope():
        net = model.Net()
    print("variables live in", net.weights[0].device, flush=True)

    def batch():
        picks = tf.random.uniform([BATCH], maxval=len(x), dtype=tf.int64)
        loss, gradients = net.gradients(tf.gather(x, picks), tf.gather(y, picks))
        for weight, gradient in zip(net.weights, gradients):
            weight.assign_sub(0.2 * gradient)
        return loss

    step = tf.function(lambda: strategy.run(batch))
    saver = tf.train.CheckpointManager(tf.train.Checkpoint(net=net), os.environ["MUSTER_CHECKPOINT_DIR"], 2)
    for done in range(50, STEPS + 1, 50):
        losses = [coordinator.schedule(step) for _ in range(50)]
        coordinator.join()  # the workers shared these 50 between them
        loss = sum(coordinator.fetch(losses)) / 50
        print(f"step {done}: loss {loss:.4f}", flush=True)
        muster.report(step=done, total=STEPS, loss=float(loss))
        saver.save(done)
    digest, accuracy = model.test(net, test_x, test_y)
    print(f"chief: weights {digest}, accuracy {accuracy:.3f}", flush=True)
    sys.exit(accuracy < 0.90)


def evaluate():
    """The evaluator tests each checkpoint that it sees, the last one for certain."""
    _, _, test_x, test_y = model.digits()
    net = model.Net()
    for path in tf.train.checkpoints_iterator(os.environ["MUSTER_CHECKPOINT_DIR"]):
        tf.train.Checkpoint(net=net).restore(path).expect_partial()
        digest, accuracy = model.test(net, test_x, test_y)
        step = int(path.rsplit("-")[-1])
        print(f"evaluator: weights {digest}, accuracy {accuracy:.3f} after step {step}", flush=True)
        if step == STEPS:
            sys.exit(accuracy < 0.90)


cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if cluster.task_type == "chief":
    train(cluster)
elif cluster.task_type == "evaluator":
    evaluate()
else:
    serve(cluster)
