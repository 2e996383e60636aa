package signalbox.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Push consumers by name: started, asked what they have received so far and which queues they hold, stopped. A
 * {@code journal} is a file with a line for each body, written before the listener returns: what a killed process
 * has consumed can be read there. While it is held, a listener does not return.
 */
final class Consuming {
    /**
     * A message is counted here a moment before its listener returns and the client notes its offset. By default
     * {@code shutdown} interrupts what stands in between, and the group gets such messages again.
     */
    private static final long FINISH_LISTENERS_MS = 2_000;

    private static final class Inbox {
        private final List<Object> received = new ArrayList<>();
        private final String journal;
        private DefaultMQPushConsumer consumer;
        private boolean isHeld;
        private int rebalances;

        Inbox(String journal) {
            this.journal = journal;
        }

        synchronized void take(List<MessageExt> messages) {
            try {
                while (isHeld) {
                    wait();
                }
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(ended);
            }
            for (MessageExt message : messages) {
                note(message);
                received.add(Json.of(message));
            }
            notifyAll();
        }

        private void note(MessageExt message) {
            if (journal.isEmpty()) {
                return;
            }
            try {
                Files.writeString(Path.of(journal), new String(message.getBody()) + "\n", StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }

        synchronized Object hold(boolean shouldHold) {
            isHeld = shouldHold;
            notifyAll();
            return shouldHold;
        }

        synchronized void countRebalance() {
            rebalances++;
            notifyAll();
        }

        synchronized int awaitRebalance(long timeoutMs) throws InterruptedException {
            if (rebalances == 0) {
                wait(timeoutMs);
            }
            return rebalances;
        }

        /** The queues that the consumer has now: what its share is, without a message to show it. */
        List<Object> queues() {
            List<Object> views = new ArrayList<>();
            for (MessageQueue queue : new TreeSet<>(
                consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet())) {
                views.add(Json.of(queue));
            }
            return views;
        }

        /** All received once there are {@code count}, or what there is when the time is over. */
        synchronized List<Object> await(int count, long timeoutMs) throws InterruptedException {
            long deadline = System.currentTimeMillis() + timeoutMs;
            while (received.size() < count) {
                long left = deadline - System.currentTimeMillis();
                if (left <= 0) {
                    break;
                }
                wait(left);
            }
            return new ArrayList<>(received);
        }
    }

    private final String nameServer;
    private final Map<String, Inbox> inboxes = new ConcurrentHashMap<>();

    Consuming(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        String name = options.text("name");
        switch (verb) {
            case "push-start":
                inboxes.put(name, start(name, options));
                return name;
            case "push-wait":
                return inboxes.get(name).await(options.number("count", 1), options.wide("timeoutMs", 30_000));
            case "push-queues":
                return inboxes.get(name).queues();
            case "push-hold":
                return inboxes.get(name).hold(options.text("held").equals("true"));
            case "push-rebalanced":
                return inboxes.get(name).awaitRebalance(options.wide("timeoutMs", 30_000));
            case "push-commit":
                inboxes.get(name).consumer.getDefaultMQPushConsumerImpl().persistConsumerOffset();
                return name;
            case "push-stop":
                Inbox stopped = inboxes.remove(name);
                stopped.consumer.shutdown();
                return stopped.await(0, 0);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Inbox start(String name, Driver.Options options) throws Exception {
        Inbox inbox = new Inbox(options.text("journal", ""));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
            options.text("group"), options.text("trace", "").equals("true"), (String) null);
        inbox.consumer = consumer;
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(name);
        consumer.setAwaitTerminationMillisWhenShutdown(FINISH_LISTENERS_MS);
        consumer.setConsumeFromWhere(options.text("from", "first").equals("last")
            ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        subscribe(consumer, options);
        if (options.text("model", "").equals("broadcast")) {
            Versions.broadcast(consumer);
        }
        if (options.text("watch", "").equals("true")) {
            Versions.watchQueues(consumer, inbox::countRebalance);
        }
        listen(consumer, options.text("listener", ""), inbox);
        consumer.start();
        return inbox;
    }

    private static void subscribe(DefaultMQPushConsumer consumer, Driver.Options options) throws Exception {
        String topic = options.text("topic");
        String expression = options.text("expression", "*");
        if (!options.text("sql", "").isEmpty()) {
            consumer.subscribe(topic, MessageSelector.bySql(options.text("sql")));
        } else {
            consumer.subscribe(topic, expression.equals("null") ? (String) null : expression);
        }
        if (!options.text("alsoTopic", "").isEmpty()) {
            consumer.subscribe(options.text("alsoTopic"), options.text("alsoExpression", "*"));
        }
    }

    private static void listen(DefaultMQPushConsumer consumer, String kind, Inbox inbox) {
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                inbox.take(messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
            return;
        }
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            inbox.take(messages);
            return kind.equals("fail") ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
    }
}
