package signalbox.interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Transaction producers by group; what they answer when asked is set per send, or stands in the message itself. */
final class Transacting {
    private static final class Shop implements TransactionListener {
        private final List<Object> checked = new ArrayList<>();
        private final TransactionMQProducer producer;
        private volatile LocalTransactionState answer = LocalTransactionState.UNKNOW;

        Shop(String group, String nameServer) throws Exception {
            producer = new TransactionMQProducer(group);
            producer.setNamesrvAddr(nameServer);
            producer.setInstanceName("shop-" + group);
            producer.setSendMsgTimeout(10_000);
            producer.setTransactionListener(this);
            producer.start();
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object decision) {
            return (LocalTransactionState) decision;
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            synchronized (checked) {
                checked.add(Json.of(message));
            }
            String own = message.getProperty("answer");
            return own == null ? answer : state(own);
        }
    }

    private final String nameServer;
    private final Map<String, Shop> shops = new ConcurrentHashMap<>();

    Transacting(String nameServer) {
        this.nameServer = nameServer;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        Shop shop = shops.computeIfAbsent(options.text("group"), this::open);
        switch (verb) {
            case "tx-send":
                shop.answer = state(options.text("answer", "unknown"));
                return send(shop.producer, options);
            case "tx-answer":
                shop.answer = state(options.text("answer"));
                return null;
            case "tx-checked":
                synchronized (shop.checked) {
                    return new ArrayList<>(shop.checked);
                }
            case "tx-stop":
                shops.remove(options.text("group")).producer.shutdown();
                return null;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Shop open(String group) {
        try {
            return new Shop(group, nameServer);
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static Object send(TransactionMQProducer producer, Driver.Options options) throws Exception {
        String prefix = options.text("prefix", "body");
        String[] decisions = options.text("decision").split(",");
        String[] answers = options.text("answers", "").split(",");
        List<Object> results = new ArrayList<>();
        for (int n = 0; n < options.number("count", 1); n++) {
            byte[] body = (prefix + "-" + n).getBytes(StandardCharsets.UTF_8);
            Message message = new Message(options.text("topic"), options.text("tag", ""), "key-" + prefix + "-" + n, body);
            if (!options.text("answers", "").isEmpty()) {
                message.putUserProperty("answer", answers[n % answers.length]);
            }
            TransactionSendResult result =
                producer.sendMessageInTransaction(message, state(decisions[n % decisions.length]));
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("sent", Json.of(result));
            view.put("state", result.getLocalTransactionState().name());
            results.add(view);
        }
        return results;
    }

    private static LocalTransactionState state(String word) {
        switch (word) {
            case "commit":
                return LocalTransactionState.COMMIT_MESSAGE;
            case "rollback":
                return LocalTransactionState.ROLLBACK_MESSAGE;
            default:
                return LocalTransactionState.UNKNOW;
        }
    }
}
