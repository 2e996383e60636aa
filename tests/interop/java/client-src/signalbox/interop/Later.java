package signalbox.interop;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;

/** Messages for later: delays, times, recalls, and a consumer that always fails. */
final class Later {
    private final String nameServer;
    private DefaultMQProducer producer;

    Later(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        switch (verb) {
            case "later-send":
                return send(options);
            case "later-recall":
                return recall(options);
            case "later-fail":
                return fail(options);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private synchronized DefaultMQProducer producer() throws Exception {
        if (producer == null) {
            producer = new DefaultMQProducer("later-producer");
            producer.setNamesrvAddr(nameServer);
            producer.setInstanceName("later-producer");
            producer.setSendMsgTimeout(10_000);
            producer.start();
        }
        return producer;
    }

    /** The 4.9 client has no setters for times; the property is all that they would set. */
    private Object send(Driver.Options options) throws Exception {
        Message message = new Message(options.text("topic"), options.text("tag", ""), Json.bytes(options.text("body")));
        if (options.number("level", 0) > 0) {
            message.setDelayTimeLevel(options.number("level", 0));
        }
        if (options.wide("deliverMs", 0) > 0) {
            MessageAccessor.putProperty(message, "TIMER_DELIVER_MS", options.text("deliverMs"));
        }
        if (options.wide("delayMs", 0) > 0) {
            MessageAccessor.putProperty(message, "TIMER_DELAY_MS", options.text("delayMs"));
        }
        if (options.wide("delaySec", 0) > 0) {
            MessageAccessor.putProperty(message, "TIMER_DELAY_SEC", options.text("delaySec"));
        }
        SendResult result = producer().send(message);
        for (int n = 1; n < options.number("count", 1); n++) {
            MessageAccessor.clearProperty(message, "UNIQ_KEY");
            result = producer().send(message);
        }
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("sent", Json.of(result));
        try {
            view.put("recallHandle", result.getClass().getMethod("getRecallHandle").invoke(result));
        } catch (NoSuchMethodException none) {
            view.put("recallHandle", null);
        }
        return view;
    }

    private Object recall(Driver.Options options) throws Exception {
        if (options.text("traceTopic", "").isEmpty()) {
            return recall(producer(), options);
        }
        System.setProperty("com.rocketmq.recall.default.trace.enable", "true");
        DefaultMQProducer traced = new DefaultMQProducer(options.text("group"), true, options.text("traceTopic"));
        traced.setNamesrvAddr(nameServer);
        traced.setInstanceName("traced-" + options.text("group"));
        traced.start();
        try {
            return recall(traced, options);
        } finally {
            traced.shutdown(); // which sends what there is to trace
        }
    }

    private static Object recall(DefaultMQProducer from, Driver.Options options) throws Exception {
        try {
            return DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class)
                .invoke(from, options.text("topic"), options.text("handle"));
        } catch (InvocationTargetException failure) {
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        }
    }

    /** Every delivery that a consumer gets which never succeeds, until there were {@code count}. */
    private Object fail(Driver.Options options) throws Exception {
        List<Object> deliveries = new ArrayList<>();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(options.text("group"));
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("failing-" + options.text("group"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(options.number("max", 16));
        consumer.subscribe(options.text("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            synchronized (deliveries) {
                messages.forEach(message -> deliveries.add(Json.of(message)));
            }
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        try {
            long deadline = System.currentTimeMillis() + options.wide("timeoutMs", 60_000);
            while (System.currentTimeMillis() < deadline) {
                synchronized (deliveries) {
                    if (deliveries.size() >= options.number("count", 1)) {
                        break;
                    }
                }
                Thread.sleep(50);
            }
            Thread.sleep(options.wide("settleMs", 2_000));
        } finally {
            consumer.shutdown();
        }
        synchronized (deliveries) {
            return new ArrayList<>(deliveries);
        }
    }
}
