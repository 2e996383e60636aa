package signalbox.interop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.impl.ClientRemotingProcessor;
import org.apache.rocketmq.client.impl.mqclient.MQClientAPIExt;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.protocol.admin.ConsumeStats;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ChangeInvisibleTimeRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil;
import org.apache.rocketmq.remoting.protocol.header.NotificationRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.UpdateConsumerOffsetRequestHeader;

/** The 5.x client's bare interface, one request each: pops and receipts, notifications, resets, progress. 4.9 has none. */
final class Bare implements Driver.Verbs {
    private static final long TIMEOUT_MS = 10_000;
    private static final int FROM_THE_BEGINNING = 0;

    private final String nameServer;
    private final MQClientAPIExt api;

    Bare(String nameServer) {
        this.nameServer = nameServer;
        ClientConfig config = new ClientConfig();
        config.setNamesrvAddr(nameServer);
        config.setInstanceName("bare");
        // Bodies as they are stored: a scenario looks whether they stay compressed.
        config.setDecodeDecompressBody(false);
        api = new MQClientAPIExt(config, new NettyClientConfig(), new ClientRemotingProcessor(null), null);
        api.start();
        api.updateNameServerAddressList();
    }

    @Override
    public Object run(String verb, Driver.Options options) throws Exception {
        switch (verb) {
            case "bare-pop":
                return pop(options);
            case "bare-forward":
                return forward(options);
            case "bare-ack":
                return status(api.ackMessageAsync(options.text("broker"), ack(options), TIMEOUT_MS).get());
            case "bare-ack-all":
                return status(api.batchAckMessageAsync(options.text("broker"), options.text("topic"),
                    options.text("group"), List.of(options.text("receipts").split(",")), TIMEOUT_MS).get());
            case "bare-hide":
                return hide(options);
            case "bare-notify":
                return api.notification(options.text("broker"), notice(options), options.wide("pollMs", 0) + TIMEOUT_MS)
                    .get();
            case "bare-reset":
                return reset(options);
            case "bare-progress":
                return progress(options);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private Object pop(Driver.Options options) throws Exception {
        PopResult popped = popped(options);
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("status", popped.getPopStatus().name());
        view.put("messages", Json.of(popped.getMsgFoundList() == null ? new ArrayList<>() : popped.getMsgFoundList()));
        return view;
    }

    /** Pops one message and sends it, as it is, to a queue of another broker. */
    private Object forward(Driver.Options options) throws Exception {
        MessageExt message = popped(options).getMsgFoundList().get(0);
        Object view = Json.of(message);
        DefaultMQProducer producer = new DefaultMQProducer("forwarder");
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName("forwarder");
        producer.start();
        try {
            producer.send(message, new MessageQueue(options.text("topic"), options.text("toBrokerName"), 0));
        } finally {
            producer.shutdown();
        }
        return view;
    }

    private PopResult popped(Driver.Options options) throws Exception {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(options.text("group"));
        header.setTopic(options.text("topic"));
        header.setQueueId(options.number("queue", -1));
        header.setMaxMsgNums(options.number("max", 32));
        header.setInvisibleTime(options.wide("invisibleMs", 30_000));
        header.setInitMode(FROM_THE_BEGINNING);
        header.setExpType("TAG");
        header.setExp(options.text("expression", "*"));
        header.setOrder(options.text("order", "").equals("true"));
        header.setAttemptId(options.text("attempt", null));
        long pollMs = options.wide("pollMs", 0);
        header.setPollTime(pollMs);
        header.setBornTime(System.currentTimeMillis());
        return api.popMessageAsync(options.text("broker"), options.text("brokerName"), header, pollMs + TIMEOUT_MS)
            .get();
    }

    private static AckMessageRequestHeader ack(Driver.Options options) {
        String[] receipt = ExtraInfoUtil.split(options.text("receipt"));
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setTopic(ExtraInfoUtil.getRealTopic(receipt, options.text("topic"), options.text("group")));
        header.setQueueId(ExtraInfoUtil.getQueueId(receipt));
        header.setOffset(ExtraInfoUtil.getQueueOffset(receipt));
        header.setConsumerGroup(options.text("group"));
        header.setExtraInfo(options.text("receipt"));
        return header;
    }

    private Object hide(Driver.Options options) throws Exception {
        AckMessageRequestHeader which = ack(options);
        ChangeInvisibleTimeRequestHeader header = new ChangeInvisibleTimeRequestHeader();
        header.setTopic(which.getTopic());
        header.setQueueId(which.getQueueId());
        header.setOffset(which.getOffset());
        header.setConsumerGroup(which.getConsumerGroup());
        header.setExtraInfo(which.getExtraInfo());
        header.setInvisibleTime(options.wide("invisibleMs", 0));
        return status(api.changeInvisibleTimeAsync(options.text("broker"), options.text("brokerName"), header,
            TIMEOUT_MS).get());
    }

    private static String status(AckResult result) {
        return result.getStatus().name();
    }

    private static NotificationRequestHeader notice(Driver.Options options) {
        NotificationRequestHeader header = new NotificationRequestHeader();
        header.setConsumerGroup(options.text("group"));
        header.setTopic(options.text("topic"));
        header.setQueueId(options.number("queue", -1));
        header.setPollTime(options.wide("pollMs", 0));
        header.setBornTime(System.currentTimeMillis());
        header.setOrder(options.text("order", "").equals("true"));
        header.setAttemptId(options.text("attempt", null));
        return header;
    }

    /** One queue to an offset, in the two steps of mqadmin; or with a time the whole topic. */
    private Object reset(Driver.Options options) throws Exception {
        String broker = options.text("broker");
        if (options.text("timestamp", null) != null) {
            return queues(api.invokeBrokerToResetOffset(broker, options.text("topic"), options.text("group"),
                options.wide("timestamp", 0), true, TIMEOUT_MS));
        }
        UpdateConsumerOffsetRequestHeader header = new UpdateConsumerOffsetRequestHeader();
        header.setConsumerGroup(options.text("group"));
        header.setTopic(options.text("topic"));
        header.setQueueId(options.number("queue", 0));
        header.setCommitOffset(options.wide("offset", 0));
        api.updateConsumerOffset(broker, header, TIMEOUT_MS);
        return queues(api.invokeBrokerToResetOffset(broker, options.text("topic"), options.text("group"), 0,
            options.number("queue", 0), options.wide("offset", 0), TIMEOUT_MS));
    }

    private static Map<Object, Object> queues(Map<MessageQueue, Long> offsets) {
        Map<Object, Object> view = new TreeMap<>();
        offsets.forEach((queue, offset) -> view.put(queue.getQueueId(), offset));
        return view;
    }

    private Object progress(Driver.Options options) throws Exception {
        ConsumeStats stats = api.getConsumeStats(options.text("broker"), options.text("group"), options.text("topic"),
            TIMEOUT_MS);
        Map<Object, Object> view = new TreeMap<>();
        for (Map.Entry<MessageQueue, OffsetWrapper> entry : stats.getOffsetTable().entrySet()) {
            OffsetWrapper offsets = entry.getValue();
            view.put(entry.getKey().getQueueId(),
                List.of(offsets.getBrokerOffset(), offsets.getConsumerOffset(), offsets.getPullOffset()));
        }
        return view;
    }
}
