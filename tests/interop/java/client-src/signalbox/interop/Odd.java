package signalbox.interop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends that a careless program makes: nothing where something is needed, too much, or queues that are not there. */
final class Odd {
    private static final long NEVER_MS = 3_000;
    private static final MessageQueueSelector FAILING = (queues, message, argument) -> {
        throw new IllegalStateException("no choice");
    };

    private final String nameServer;
    private final Producing producing;

    Odd(String nameServer, Producing producing) {
        this.nameServer = nameServer;
        this.producing = producing;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        switch (verb) {
            case "odd-sync":
                return Json.of(producing.producer(options).send(message(options)));
            case "odd-async":
                return async(producing.producer(options), message(options), options);
            case "odd-oneway":
                oneway(producing.producer(options), message(options), options);
                return null;
            case "odd-twin":
                return twin(options);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Message message(Driver.Options options) {
        String topic = options.text("topic");
        switch (options.text("message", "plain")) {
            case "null":
                return null;
            case "null-body":
                return new Message(topic, (byte[]) null);
            case "null-topic":
                return new Message(null, Json.bytes("odd"));
            case "sized":
                return new Message(topic, incompressible(options.number("size", 0)));
            case "long-property":
                Message message = new Message(topic, Json.bytes("odd"));
                message.putUserProperty("key", "\u4e2d".repeat(options.number("size", 0)));
                return message;
            default:
                return new Message(topic, Json.bytes("odd"));
        }
    }

    private static byte[] incompressible(int size) {
        byte[] body = new byte[size];
        new java.util.Random(size).nextBytes(body);
        return body;
    }

    /** What the callback was told: a send's status, an exception, or "never". */
    private static Object async(DefaultMQProducer producer, Message message, Driver.Options options) throws Exception {
        CompletableFuture<String> told = new CompletableFuture<>();
        SendCallback callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                told.complete(result.getSendStatus().name());
            }

            @Override
            public void onException(Throwable failure) {
                told.complete(failure.toString());
            }
        };
        switch (options.text("lacks")) {
            case "callback":
                producer.send(message, (SendCallback) null);
                break;
            case "queue":
                producer.send(message, (MessageQueue) null, callback);
                break;
            case "selector":
                producer.send(message, (MessageQueueSelector) null, 100, callback);
                break;
            case "choice":
                producer.send(message, FAILING, null, callback);
                break;
            default:
                throw new IllegalArgumentException(options.text("lacks"));
        }
        try {
            return told.get(NEVER_MS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException never) {
            return "never";
        }
    }

    private static void oneway(DefaultMQProducer producer, Message message, Driver.Options options) throws Exception {
        switch (options.text("lacks")) {
            case "queue":
                producer.sendOneway(message, (MessageQueue) null);
                break;
            case "selector":
                producer.sendOneway(message, (MessageQueueSelector) null, 100);
                break;
            case "choice":
                producer.sendOneway(message, FAILING, null);
                break;
            default:
                throw new IllegalArgumentException(options.text("lacks"));
        }
    }

    /** Two producers of one group at once; whether the second starts depends on its instance name. */
    private Object twin(Driver.Options options) throws Exception {
        DefaultMQProducer first = started(options.text("group"), "one");
        try {
            DefaultMQProducer second = started(options.text("group"), options.text("instance"));
            try {
                return List.of(Json.of(first.send(new Message(options.text("topic"), Json.bytes("first")))),
                    Json.of(second.send(new Message(options.text("topic"), Json.bytes("second")))));
            } finally {
                second.shutdown();
            }
        } finally {
            first.shutdown();
        }
    }

    private DefaultMQProducer started(String group, String instance) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName(group + "-" + instance);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        return producer;
    }
}
