package signalbox.interop;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/** The places where the client's 4.9 and 5.x interfaces differ, met by reflection so that one source serves both. */
final class Versions {
    private Versions() {
    }

    /** {@code MessageModel} moved to another package in 5.x. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static void broadcast(DefaultMQPushConsumer consumer) throws Exception {
        for (Method method : DefaultMQPushConsumer.class.getMethods()) {
            if (method.getName().equals("setMessageModel")) {
                method.invoke(consumer, Enum.valueOf((Class) method.getParameterTypes()[0], "BROADCASTING"));
                return;
            }
        }
        throw new NoSuchMethodException("setMessageModel");
    }

    /** Only a 5.x push consumer tells when its queues change. */
    static void watchQueues(DefaultMQPushConsumer consumer, Runnable onChange) throws Exception {
        Class<?> kind = Class.forName("org.apache.rocketmq.client.consumer.MessageQueueListener");
        Object listener = Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (self, method, given) -> {
            onChange.run();
            return null;
        });
        DefaultMQPushConsumer.class.getMethod("setMessageQueueListener", kind).invoke(consumer, listener);
    }

    /** Only 5.x has a choice; 4.9 compresses by zlib. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static void compress(Object producer, String kind) throws Exception {
        if (kind.isEmpty()) {
            return;
        }
        for (Method method : producer.getClass().getMethods()) {
            if (method.getName().equals("setCompressType")) {
                method.invoke(producer, Enum.valueOf((Class) method.getParameterTypes()[0], kind));
                return;
            }
        }
        throw new NoSuchMethodException("setCompressType");
    }

    /** 5.x added a map of attributes to {@code createTopic}. */
    static void createTopic(Object admin, String key, String topic, int queues) throws Exception {
        for (Method method : admin.getClass().getMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (!method.getName().equals("createTopic") || types.length < 3 || types[2] != int.class) {
                continue;
            }
            try {
                if (types.length == 3) {
                    method.invoke(admin, key, topic, queues);
                    return;
                }
                if (types.length == 4 && types[3] == int.class) {
                    method.invoke(admin, key, topic, queues, 0);
                    return;
                }
                if (types.length == 4 && types[3] == Map.class) {
                    method.invoke(admin, key, topic, queues, Map.of());
                    return;
                }
            } catch (InvocationTargetException failure) {
                throw failure.getCause() instanceof Exception ? (Exception) failure.getCause() : failure;
            }
        }
        throw new NoSuchMethodException("createTopic");
    }
}
