package signalbox.interop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Values of the client as JSON, written by hand so that no library of a tested version takes part. */
final class Json {
    private Json() {
    }

    static Object of(SendResult result) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("status", result.getSendStatus().name());
        view.put("msgId", result.getMsgId());
        view.put("offsetMsgId", result.getOffsetMsgId());
        view.put("queueId", result.getMessageQueue().getQueueId());
        view.put("brokerName", result.getMessageQueue().getBrokerName());
        view.put("queueOffset", result.getQueueOffset());
        view.put("transactionId", result.getTransactionId());
        view.put("regionId", result.getRegionId());
        return view;
    }

    static Object of(MessageExt message) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("topic", message.getTopic());
        view.put("body", Base64.getEncoder().encodeToString(message.getBody()));
        view.put("properties", new TreeMap<>(message.getProperties()));
        view.put("msgId", message.getMsgId());
        if (message instanceof MessageClientExt) {
            view.put("offsetMsgId", ((MessageClientExt) message).getOffsetMsgId());
        }
        view.put("brokerName", message.getBrokerName());
        view.put("queueId", message.getQueueId());
        view.put("queueOffset", message.getQueueOffset());
        view.put("commitLogOffset", message.getCommitLogOffset());
        view.put("storeSize", message.getStoreSize());
        view.put("sysFlag", message.getSysFlag());
        view.put("flag", message.getFlag());
        view.put("bodyCrc", message.getBodyCRC());
        view.put("bornTimestamp", message.getBornTimestamp());
        view.put("bornHost", String.valueOf(message.getBornHost()));
        view.put("storeTimestamp", message.getStoreTimestamp());
        view.put("storeHost", String.valueOf(message.getStoreHost()));
        view.put("reconsumeTimes", message.getReconsumeTimes());
        view.put("thread", Thread.currentThread().getName());
        return view;
    }

    static Object of(Iterable<? extends MessageExt> messages) {
        List<Object> views = new ArrayList<>();
        for (MessageExt message : messages) {
            views.add(of(message));
        }
        return views;
    }

    static Object of(MessageQueue queue) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("topic", queue.getTopic());
        view.put("brokerName", queue.getBrokerName());
        view.put("queueId", queue.getQueueId());
        return view;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map) {
            out.append('{');
            String comma = "";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(comma);
                quote(out, String.valueOf(entry.getKey()));
                out.append(':');
                write(out, entry.getValue());
                comma = ",";
            }
            out.append('}');
        } else if (value instanceof Iterable) {
            out.append('[');
            String comma = "";
            for (Object item : (Iterable<?>) value) {
                out.append(comma);
                write(out, item);
                comma = ",";
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(out, value.toString());
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (char unit : text.toCharArray()) {
            if (unit == '"' || unit == '\\') {
                out.append('\\').append(unit);
            } else if (unit < ' ' || unit > '~') {
                out.append(String.format("\\u%04x", (int) unit));
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }
}
