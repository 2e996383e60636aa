package signalbox.interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Requests, and consumers that reply to each with its body and an exclamation mark. */
final class Asking {
    private final String nameServer;
    private final Map<String, DefaultMQProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, DefaultMQPushConsumer> answerers = new ConcurrentHashMap<>();
    private final Set<String> heard = ConcurrentHashMap.newKeySet();
    private final Set<String> failed = ConcurrentHashMap.newKeySet();

    Asking(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        switch (verb) {
            case "ask-request":
                Message request = new Message(options.text("topic"), "", bytes(options.text("body")));
                return ask(producer(options.text("group")), request, options);
            case "ask-answer":
                answerers.put(options.text("name"), answerer(options));
                return null;
            case "ask-heard":
                return new ArrayList<>(heard);
            case "ask-failed":
                return new ArrayList<>(failed);
            case "ask-stop":
                answerers.remove(options.text("name")).shutdown();
                return null;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    /** With a callback: the blocking request of 5.3.3 gives up at once, on every server. */
    private static String ask(DefaultMQProducer producer, Message request, Driver.Options options) throws Exception {
        // More than the 20 s after which an answerer that missed its first rebalance comes back to it.
        long timeoutMs = options.wide("timeoutMs", 45_000);
        CompletableFuture<String> reply = new CompletableFuture<>();
        RequestCallback callback = new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                reply.complete(new String(message.getBody(), StandardCharsets.UTF_8));
            }

            @Override
            public void onException(Throwable failure) {
                reply.completeExceptionally(failure);
            }
        };
        MessageQueue queue =
            new MessageQueue(request.getTopic(), options.text("broker", ""), options.number("queue", 0));
        switch (options.text("by", "any")) {
            case "queue":
                producer.request(request, queue, callback, timeoutMs);
                break;
            case "selector":
                producer.request(request, (queues, given, key) -> queues.get(queues.indexOf(key)), queue, callback,
                    timeoutMs);
                break;
            default:
                producer.request(request, callback, timeoutMs);
        }
        return reply.get(timeoutMs + 10_000, TimeUnit.MILLISECONDS);
    }

    private DefaultMQPushConsumer answerer(Driver.Options options) throws Exception {
        DefaultMQProducer producer = producer(options.text("group") + "-replies");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(options.text("group"));
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(options.text("name"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(options.text("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                String question = new String(message.getBody(), StandardCharsets.UTF_8);
                heard.add(question);
                try {
                    if (options.text("silent", "").equals("true")) {
                        Thread.sleep(Long.MAX_VALUE);
                    }
                    byte[] body = bytes(question + "!");
                    producer.send(MessageUtil.createReplyMessage(message, body), 10_000);
                } catch (Exception failure) {
                    failed.add(question);
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return consumer;
    }

    private DefaultMQProducer producer(String group) {
        return producers.computeIfAbsent(group, name -> {
            DefaultMQProducer producer = new DefaultMQProducer(name);
            producer.setNamesrvAddr(nameServer);
            producer.setInstanceName("asker-" + name);
            try {
                producer.start();
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
            return producer;
        });
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
