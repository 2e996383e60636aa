package signalbox.interop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Everything that reads without a group's progress: by id, by key, by time, whole topics, and topic creation. */
final class Reading {
    private final DefaultMQPullConsumer reader = new DefaultMQPullConsumer("interop-reader");

    Reading(String nameServer) throws Exception {
        reader.setNamesrvAddr(nameServer);
        reader.setInstanceName("reader");
        reader.start();
    }

    Object run(String verb, Driver.Options options) throws Exception {
        String topic = options.text("topic");
        switch (verb) {
            case "read-id":
                return Json.of(reader.viewMessage(topic, options.text("msgId")));
            case "read-key":
                return Json.of(reader.queryMessage(topic, options.text("key"), options.number("max", 32), 0,
                    System.currentTimeMillis() + 60_000).getMessageList());
            case "read-offsets":
                return offsets(topic, options.wide("timestamp", 0));
            case "read-all":
                return all(topic, options.text("expression", "*"));
            case "read-queues":
                return queues(topic);
            case "admin-create":
                Versions.createTopic(reader.getDefaultMQPullConsumerImpl(), options.text("key", "TBW102"), topic,
                    options.number("queues", 4));
                return topic;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Object queues(String topic) throws Exception {
        List<Object> views = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(reader.fetchSubscribeMessageQueues(topic))) {
            views.add(Json.of(queue));
        }
        return views;
    }

    private Object offsets(String topic, long timestamp) throws Exception {
        List<Object> views = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(reader.fetchSubscribeMessageQueues(topic))) {
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("queueId", queue.getQueueId());
            view.put("min", reader.minOffset(queue));
            view.put("max", reader.maxOffset(queue));
            view.put("search", reader.searchOffset(queue, timestamp));
            view.put("earliest", reader.earliestMsgStoreTime(queue));
            views.add(view);
        }
        return views;
    }

    private Object all(String topic, String expression) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(reader.fetchSubscribeMessageQueues(topic))) {
            long offset = reader.minOffset(queue);
            long end = reader.maxOffset(queue);
            while (offset < end) {
                PullResult pulled = reader.pull(queue, expression, offset, 32);
                if (pulled.getPullStatus() == PullStatus.FOUND) {
                    found.addAll(pulled.getMsgFoundList());
                } else if (pulled.getPullStatus() != PullStatus.NO_MATCHED_MSG) {
                    throw new IllegalStateException(queue + " at " + offset + " of " + end + ": " + pulled);
                }
                offset = pulled.getNextBeginOffset();
            }
        }
        return Json.of(found);
    }
}
