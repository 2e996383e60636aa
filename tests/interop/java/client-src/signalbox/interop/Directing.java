package signalbox.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends to one queue of one broker, named outright or chosen by a selector, in each of the three ways. */
final class Directing {
    private final Producing producing;

    Directing(Producing producing) {
        this.producing = producing;
    }

    Object run(String verb, Driver.Options options) throws Exception {
        DefaultMQProducer producer = producing.producer(options);
        List<Message> messages = Producing.messages(options);
        MessageQueue queue =
            new MessageQueue(options.text("topic"), options.text("broker"), options.number("queue", 0));
        boolean selects = options.text("by", "queue").equals("selector");
        switch (verb) {
            case "direct-sync":
                return sync(producer, messages, queue, selects);
            case "direct-async":
                return async(producer, messages, queue, selects);
            case "direct-oneway":
                for (Message message : messages) {
                    if (selects) {
                        producer.sendOneway(message, choosing(queue), null);
                    } else {
                        producer.sendOneway(message, queue);
                    }
                }
                return messages.size();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    /** Chooses among the queues that the route offers; one that is not there cannot be chosen. */
    private static MessageQueueSelector choosing(MessageQueue wanted) {
        return (queues, message, argument) -> queues.get(queues.indexOf(wanted));
    }

    private static Object sync(DefaultMQProducer producer, List<Message> messages, MessageQueue queue,
        boolean selects) throws Exception {
        List<Object> results = new ArrayList<>();
        for (Message message : messages) {
            results.add(Json.of(selects ? producer.send(message, choosing(queue), null)
                : producer.send(message, queue)));
        }
        return results;
    }

    private static Object async(DefaultMQProducer producer, List<Message> messages, MessageQueue queue,
        boolean selects) throws Exception {
        Object[] results = new Object[messages.size()];
        CountDownLatch left = new CountDownLatch(messages.size());
        for (int n = 0; n < messages.size(); n++) {
            SendCallback callback = into(results, n, left);
            if (selects) {
                producer.send(messages.get(n), choosing(queue), null, callback);
            } else {
                producer.send(messages.get(n), queue, callback);
            }
        }
        if (!left.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " callbacks missing");
        }
        return Arrays.asList(results);
    }

    private static SendCallback into(Object[] results, int place, CountDownLatch left) {
        return new SendCallback() {
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
        };
    }
}
