import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * The official Java client as load: sync (16 threads), async (256 in flight) or consume (push, one by one).
 *
 * <pre>java -cp CLIENT JavaBench.java NAMESRV TOPIC sync|async|consume BODY_BYTES WARMUP_S SECONDS [MESSAGES]</pre>
 *
 * A consume run reads MESSAGES messages that are there already and is timed from the end of its warm-up (a tenth
 * of them) to the last. Prints one line of JSON; `answered` counts the warm-up too.
 */
public class JavaBench {
    private static final int THREADS = 16;
    private static final int IN_FLIGHT = 256;
    private static final AtomicLong answered = new AtomicLong();
    private static final AtomicLong failed = new AtomicLong();
    private static volatile boolean isOver;

    public static void main(String[] args) throws Exception {
        String nameServer = args[0];
        String topic = args[1];
        byte[] body = new byte[Integer.parseInt(args[3])];
        double warmup = Double.parseDouble(args[4]);
        double seconds = Double.parseDouble(args[5]);
        if (args[2].equals("consume")) {
            consume(nameServer, topic, Long.parseLong(args[6]), warmup + seconds);
        } else {
            send(nameServer, topic, body, args[2].equals("sync"), warmup, seconds);
        }
        System.exit(0);
    }

    private static void send(
            String nameServer, String topic, byte[] body, boolean isSync, double warmup, double seconds)
            throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_java_producer");
        producer.setNamesrvAddr(nameServer);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.start();
        Thread[] senders = new Thread[isSync ? THREADS : 1];
        for (int n = 0; n < senders.length; n++) {
            senders[n] = new Thread(() -> {
                if (isSync) sendSync(producer, topic, body);
                else sendAsync(producer, topic, body);
            });
            senders[n].setDaemon(true);
            senders[n].start();
        }
        Thread.sleep((long) (warmup * 1000));
        long before = answered.get();
        long began = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        long messages = answered.get() - before;
        double elapsed = (System.nanoTime() - began) / 1e9;
        isOver = true;
        for (Thread sender : senders) sender.join(3000);
        report(messages / elapsed);
    }

    private static void sendSync(DefaultMQProducer producer, String topic, byte[] body) {
        while (!isOver) {
            try {
                SendResult result = producer.send(new Message(topic, "bench", body));
                (result.getSendStatus() == SendStatus.SEND_OK ? answered : failed).incrementAndGet();
            } catch (Exception error) {
                failed.incrementAndGet();
            }
        }
    }

    private static void sendAsync(DefaultMQProducer producer, String topic, byte[] body) {
        Semaphore room = new Semaphore(IN_FLIGHT);
        SendCallback callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                answered.incrementAndGet();
                room.release();
            }

            @Override
            public void onException(Throwable error) {
                failed.incrementAndGet();
                room.release();
            }
        };
        while (!isOver) {
            room.acquireUninterruptibly();
            try {
                producer.send(new Message(topic, "bench", body), callback);
            } catch (Exception error) {
                callback.onException(error);
            }
        }
        room.acquireUninterruptibly(IN_FLIGHT);
    }

    private static void consume(String nameServer, String topic, long messages, double limit) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_" + UUID.randomUUID());
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        AtomicLong warmAt = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (pulled, context) -> {
            long count = answered.addAndGet(pulled.size());
            if (count >= messages / 10) warmAt.compareAndSet(0, System.nanoTime());
            if (count >= messages) done.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (!done.await((long) (limit * 20_000), java.util.concurrent.TimeUnit.MILLISECONDS)) failed.incrementAndGet();
        report((answered.get() - messages / 10) / ((System.nanoTime() - warmAt.get()) / 1e9));
        consumer.shutdown();
    }

    private static void report(double rate) {
        System.out.printf("{\"rate\":%.1f,\"answered\":%d,\"failed\":%d}%n", rate, answered.get(), failed.get());
        System.out.flush();
    }
}
