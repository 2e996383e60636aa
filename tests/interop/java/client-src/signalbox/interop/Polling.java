package signalbox.interop;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Lite pull consumers by name, subscribing or assigning. */
final class Polling {
    private final String nameServer;
    private final Map<String, DefaultLitePullConsumer> consumers = new ConcurrentHashMap<>();

    Polling(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        String name = options.text("name");
        DefaultLitePullConsumer consumer = consumers.get(name);
        switch (verb) {
            case "lite-subscribe":
                consumer = consumer(name, options);
                consumer.subscribe(options.text("topic"), options.text("expression", "*"));
                consumer.start();
                consumers.put(name, consumer);
                return name;
            case "lite-assign":
                consumer = consumer(name, options);
                consumer.setAutoCommit(false);
                consumer.start();
                consumers.put(name, consumer);
                return assign(consumer, options);
            case "lite-poll":
                return poll(consumer, options.number("count", 1), options.wide("timeoutMs", 30_000));
            case "lite-seek":
                for (MessageQueue queue : consumer.fetchMessageQueues(options.text("topic"))) {
                    consumer.seek(queue, options.wide("offset", 0));
                }
                return name;
            case "lite-commit":
                consumer.commitSync();
                return committed(consumer, options.text("topic"));
            case "lite-stop":
                consumers.remove(name).shutdown();
                return name;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private DefaultLitePullConsumer consumer(String name, Driver.Options options) {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(options.text("group"));
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(name);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        return consumer;
    }

    private static Object assign(DefaultLitePullConsumer consumer, Driver.Options options) throws Exception {
        Collection<MessageQueue> queues = consumer.fetchMessageQueues(options.text("topic"));
        consumer.assign(queues);
        for (MessageQueue queue : queues) {
            consumer.seekToBegin(queue);
        }
        return queues.size();
    }

    private static Object poll(DefaultLitePullConsumer consumer, int count, long timeoutMs) {
        List<MessageExt> received = new ArrayList<>();
        long deadline = System.currentTimeMillis() + timeoutMs;
        while (received.size() < count && System.currentTimeMillis() < deadline) {
            received.addAll(consumer.poll(500));
        }
        return Json.of(received);
    }

    private static Object committed(DefaultLitePullConsumer consumer, String topic) throws Exception {
        long total = 0;
        for (MessageQueue queue : consumer.fetchMessageQueues(topic)) {
            total += Math.max(0, consumer.committed(queue));
        }
        return total;
    }
}
