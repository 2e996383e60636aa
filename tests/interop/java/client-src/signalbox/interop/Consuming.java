package signalbox.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** Push consumers by name: started, asked what they have received so far, stopped. */
final class Consuming {
    private static final class Inbox {
        private final List<Object> received = new ArrayList<>();
        private DefaultMQPushConsumer consumer;

        synchronized void take(List<MessageExt> messages) {
            for (MessageExt message : messages) {
                received.add(Json.of(message));
            }
            notifyAll();
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
            case "push-stop":
                inboxes.remove(name).consumer.shutdown();
                return name;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Inbox start(String name, Driver.Options options) throws Exception {
        Inbox inbox = new Inbox();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
            options.text("group"), options.text("trace", "").equals("true"), (String) null);
        inbox.consumer = consumer;
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        if (options.text("sql", "").isEmpty()) {
            consumer.subscribe(options.text("topic"), options.text("expression", "*"));
        } else {
            consumer.subscribe(options.text("topic"), MessageSelector.bySql(options.text("sql")));
        }
        if (options.text("model", "").equals("broadcast")) {
            Versions.broadcast(consumer);
        }
        if (options.text("listener", "").equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                inbox.take(messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                inbox.take(messages);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        return inbox;
    }
}
