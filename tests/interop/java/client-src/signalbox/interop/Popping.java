package signalbox.interop;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Push consumers that leave the sharing of queues to the broker: they pop when it says so. What a listener does is
 * chosen by name: {@code consume}, {@code fail-once} each message, {@code fail-twice} (or in order
 * {@code suspend-twice}), or {@code hang} until the process ends.
 */
final class Popping {
    private static final class Inbox {
        private final List<Object> received = new ArrayList<>();
        private final Set<String> seen = new HashSet<>();
        private DefaultMQPushConsumer consumer;

        /** Whether any of these is here for the first time. */
        synchronized boolean take(List<MessageExt> messages) {
            boolean isNew = false;
            for (MessageExt message : messages) {
                received.add(Json.of(message));
                isNew |= seen.add(new String(message.getBody()));
            }
            notifyAll();
            return isNew;
        }

        synchronized List<Object> await(int count, long timeoutMs) throws InterruptedException {
            long deadline = System.currentTimeMillis() + timeoutMs;
            for (long left = timeoutMs; received.size() < count && left > 0;) {
                wait(left);
                left = deadline - System.currentTimeMillis();
            }
            return new ArrayList<>(received);
        }
    }

    private final String nameServer;
    private final Map<String, Inbox> inboxes = new ConcurrentHashMap<>();

    Popping(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        String name = options.text("name");
        switch (verb) {
            case "pop-start":
                inboxes.put(name, start(name, options));
                return name;
            case "pop-wait":
                return inboxes.get(name).await(options.number("count", 1), options.wide("timeoutMs", 30_000));
            case "pop-stop":
                inboxes.remove(name).consumer.shutdown();
                return name;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Inbox start(String name, Driver.Options options) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(options.text("group"));
        inbox.consumer = consumer;
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // Only 5.x has these two.
        DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class).invoke(consumer, false);
        DefaultMQPushConsumer.class.getMethod("setPopInvisibleTime", long.class)
            .invoke(consumer, options.wide("invisibleMs", 60_000));
        consumer.subscribe(options.text("topic"), options.text("expression", "*"));
        String kind = options.text("listener", "consume");
        if (kind.equals("suspend-twice")) {
            consumer.setConsumeMessageBatchMaxSize(1);
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                inbox.take(messages);
                return isYoung(messages) ? ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
                    : ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener(listener(kind, inbox));
        }
        consumer.start();
        return inbox;
    }

    private static boolean isYoung(List<MessageExt> messages) {
        return messages.get(0).getReconsumeTimes() < 2;
    }

    private static MessageListenerConcurrently listener(String kind, Inbox inbox) {
        switch (kind) {
            case "consume":
                return (messages, context) -> {
                    inbox.take(messages);
                    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                };
            case "fail-once":
                return (messages, context) -> inbox.take(messages)
                    ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                    : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            case "fail-twice":
                return (messages, context) -> {
                    inbox.take(messages);
                    return isYoung(messages) ? ConsumeConcurrentlyStatus.RECONSUME_LATER
                        : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                };
            case "hang":
                return (messages, context) -> {
                    inbox.take(messages);
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException ended) {
                        Thread.currentThread().interrupt();
                    }
                    return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                };
            default:
                throw new IllegalArgumentException(kind);
        }
    }
}
