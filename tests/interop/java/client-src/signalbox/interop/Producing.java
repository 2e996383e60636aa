package signalbox.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** The ways to send. Bodies are {@code prefix-n}, padded to {@code size}; keys {@code key-prefix-n} unless given. */
final class Producing {
    private final String nameServer;
    private final Map<String, DefaultMQProducer> producers = new ConcurrentHashMap<>();

    Producing(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        DefaultMQProducer producer = producer(options);
        List<Message> messages = messages(options);
        switch (verb) {
            case "send-sync":
                return sync(producer, messages, options.wide("paceMs", 0));
            case "send-async":
                return async(producer, messages);
            case "send-oneway":
                for (Message message : messages) {
                    producer.sendOneway(message);
                }
                return messages.size();
            case "send-batch":
                return List.of(Json.of(producer.send(messages)));
            case "send-batch-full":
                Message full = messages.get(0);
                full.setWaitStoreMsgOK(false);
                full.setBuyerId("buyerid123");
                full.setFlag(123);
                return List.of(Json.of(producer.send(messages)));
            case "send-selector":
                return selected(producer, messages, options.number("shard", 0));
            case "send-queue":
                return List.of(Json.of(producer.send(messages, new MessageQueue(options.text("topic"),
                    options.text("broker"), options.number("queue", 0)))));
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    DefaultMQProducer producer(Driver.Options options) {
        return producers.computeIfAbsent(options.text("group", "interop-producer"), name -> {
            DefaultMQProducer producer =
                new DefaultMQProducer(name, options.text("trace", "").equals("true"), (String) null);
            producer.setNamesrvAddr(nameServer);
            producer.setInstanceName("producer-" + name);
            producer.setSendMsgTimeout(10_000);
            try {
                Versions.compress(producer, options.text("compress", ""));
                producer.start();
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
            return producer;
        });
    }

    static List<Message> messages(Driver.Options options) {
        String prefix = options.text("prefix", "body");
        int size = options.number("size", 0);
        List<Message> messages = new ArrayList<>();
        for (int n = 0; n < options.number("count", 1); n++) {
            StringBuilder body = new StringBuilder(prefix + "-" + n);
            while (body.length() < size) {
                body.append(' ').append(body.length());
            }
            Message message = new Message(options.text("topic"), options.text("tag", ""),
                options.text("key", "key-" + prefix + "-" + n), Json.bytes(body.toString()));
            message.putUserProperty("n", Integer.toString(n));
            message.putUserProperty("word", "\u043f\u0440\u0438\u0432\u0435\u0442 \ud83d\ude80");
            message.setFlag(n);
            messages.add(message);
        }
        return messages;
    }

    private static Object sync(DefaultMQProducer producer, List<Message> messages, long paceMs) throws Exception {
        List<Object> results = new ArrayList<>();
        for (Message message : messages) {
            results.add(Json.of(producer.send(message)));
            Thread.sleep(paceMs);
        }
        return results;
    }

    private static Object async(DefaultMQProducer producer, List<Message> messages) throws Exception {
        Object[] results = new Object[messages.size()];
        CountDownLatch left = new CountDownLatch(messages.size());
        for (int n = 0; n < messages.size(); n++) {
            int place = n;
            producer.send(messages.get(n), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    results[place] = Json.of(result);
                    left.countDown();
                }

                @Override
                public void onException(Throwable failure) {
                    results[place] = failure.toString();
                    left.countDown();
                }
            });
        }
        if (!left.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " callbacks missing");
        }
        return List.of(results);
    }

    private static Object selected(DefaultMQProducer producer, List<Message> messages, int shard) throws Exception {
        List<Object> results = new ArrayList<>();
        for (Message message : messages) {
            results.add(Json.of(producer.send(message, (queues, given, key) -> queues.get((Integer) key % queues.size()),
                shard)));
        }
        return results;
    }
}
