package signalbox.interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;
import signalbox.interop.Driver.Options;

/** Clients with credentials: each verb makes one, uses it and ends it, so that identities do not mix. */
final class Guarded {
    private final String nameServer;

    Guarded(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Options options) throws Exception {
        switch (verb) {
            case "acl-send":
                return send(options);
            case "acl-transact":
                return transact(options);
            case "acl-push":
                return push(options);
            case "acl-lite":
                return lite(options);
            case "acl-pull":
                return pull(options);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static RPCHook hook(Options options) {
        String name = options.text("accessKey", "");
        if (name.isEmpty()) {
            return null;
        }
        String token = options.text("token", "");
        String secret = options.text("secretKey");
        return new AclClientRPCHook(
                token.isEmpty() ? new SessionCredentials(name, secret) : new SessionCredentials(name, secret, token));
    }

    private Object send(Options options) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(options.text("group", "acl-producer"), hook(options));
        producer.setNamesrvAddr(options.text("nameServer", nameServer));
        producer.setInstanceName("acl-" + System.nanoTime());
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        try {
            SendResult result = producer.send(new Message(options.text("topic"), bytes(options.text("body"))));
            return result.getSendStatus().name();
        } catch (MQClientException failure) {
            // What the broker answered is the cause; the client's own text only says that it gave up.
            throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
        } finally {
            producer.shutdown();
        }
    }

    private Object transact(Options options) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(options.text("group"), hook(options));
        producer.setNamesrvAddr(options.text("nameServer", nameServer));
        producer.setInstanceName("acl-" + System.nanoTime());
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.start();
        try {
            Message half = new Message(options.text("topic"), bytes(options.text("body")));
            String state = producer.sendMessageInTransaction(half, null).getSendStatus().name();
            Thread.sleep(Long.parseLong(options.text("stayMs")));
            return state;
        } finally {
            producer.shutdown();
        }
    }

    private Object push(Options options) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
                options.text("group"), hook(options), new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(options.text("nameServer", nameServer));
        consumer.setInstanceName("acl-" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        boolean failsFirst = options.text("retry", "").equals("true");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (failsFirst && messages.get(0).getReconsumeTimes() == 0) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            messages.forEach(message -> received.add(new String(message.getBody(), StandardCharsets.UTF_8)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.subscribe(options.text("topic"), "*");
        consumer.start();
        try {
            String first = received.poll(Long.parseLong(options.text("timeoutMs")), TimeUnit.MILLISECONDS);
            return first == null ? "nothing" : first;
        } finally {
            consumer.shutdown();
        }
    }

    private Object lite(Options options) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(options.text("group"), hook(options));
        consumer.setNamesrvAddr(options.text("nameServer", nameServer));
        consumer.setInstanceName("acl-" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(options.text("topic"), "*");
        consumer.start();
        try {
            long end = System.currentTimeMillis() + Long.parseLong(options.text("timeoutMs"));
            while (System.currentTimeMillis() < end) {
                List<MessageExt> found = consumer.poll(500);
                if (!found.isEmpty()) {
                    return new String(found.get(0).getBody(), StandardCharsets.UTF_8);
                }
            }
            return "nothing";
        } finally {
            consumer.shutdown();
        }
    }

    /** One pull per queue, whose refusal is thrown, which a push consumer would keep to itself. */
    @SuppressWarnings("deprecation")
    private Object pull(Options options) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(options.text("group"), hook(options));
        consumer.setNamesrvAddr(options.text("nameServer", nameServer));
        consumer.setInstanceName("acl-" + System.nanoTime());
        consumer.start();
        try {
            Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(options.text("topic"));
            List<String> bodies = new ArrayList<>();
            for (MessageQueue queue : queues) {
                List<MessageExt> found = consumer.pull(queue, "*", 0, 32).getMsgFoundList();
                if (found != null) {
                    found.forEach(message -> bodies.add(new String(message.getBody(), StandardCharsets.UTF_8)));
                }
            }
            return bodies.isEmpty() ? "nothing" : bodies.get(0);
        } finally {
            consumer.shutdown();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
