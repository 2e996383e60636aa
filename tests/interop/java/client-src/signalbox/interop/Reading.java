package signalbox.interop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
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
                return Json.of(reader.viewMessage(topic, options.text("msgId", null)));
            case "read-key":
                return Json.of(reader.queryMessage(topic, options.text("key"), options.number("max", 32),
                    options.wide("begin", 0), options.wide("end", System.currentTimeMillis() + 60_000))
                    .getMessageList());
            case "read-pull":
                return pulled(new MessageQueue(topic, options.text("broker"), options.number("queue", 0)), options);
            case "read-offsets":
                return offsets(topic, options.wide("timestamp", 0));
            case "read-all":
                return all(topic, options.text("sql", "").isEmpty()
                    ? MessageSelector.byTag(options.text("expression", "*"))
                    : MessageSelector.bySql(options.text("sql")));
            case "read-committed":
                return committed(topic, options.text("group"));
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

    private Object pulled(MessageQueue queue, Driver.Options options) throws Exception {
        PullResult pulled = reader.pullBlockIfNotFound(queue, options.text("expression", "*"), options.wide("offset", 0),
            options.number("max", 32));
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("status", pulled.getPullStatus().name());
        view.put("min", pulled.getMinOffset());
        view.put("max", pulled.getMaxOffset());
        view.put("next", pulled.getNextBeginOffset());
        view.put("messages", pulled.getMsgFoundList() == null ? List.of() : Json.of(pulled.getMsgFoundList()));
        return view;
    }

    /** Asked by a consumer of the group itself, which must have no other member at that time. */
    private Object committed(String topic, String group) throws Exception {
        DefaultMQPullConsumer member = new DefaultMQPullConsumer(group);
        member.setNamesrvAddr(reader.getNamesrvAddr());
        member.setInstanceName("committed-" + group);
        member.start();
        try {
            List<Object> views = new ArrayList<>();
            for (MessageQueue queue : new TreeSet<>(member.fetchSubscribeMessageQueues(topic))) {
                Map<String, Object> view = new LinkedHashMap<>();
                view.put("brokerName", queue.getBrokerName());
                view.put("queueId", queue.getQueueId());
                view.put("offset", member.fetchConsumeOffset(queue, true));
                views.add(view);
            }
            return views;
        } finally {
            member.shutdown();
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

    private Object all(String topic, MessageSelector wanted) throws Exception {
        List<MessageExt> found = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(reader.fetchSubscribeMessageQueues(topic))) {
            long offset = reader.minOffset(queue);
            long end = reader.maxOffset(queue);
            while (offset < end) {
                PullResult pulled = reader.pull(queue, wanted, offset, 32);
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
