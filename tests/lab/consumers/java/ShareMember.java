import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a share group: poll and handle; each poll acknowledges what the one before it handed out. */
public final class ShareMember {
    private ShareMember() {}

    public static void main(String[] args) throws InterruptedException {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", Lab.text("KAFKA_BROKERS"));
        properties.put("group.id", Lab.text("KAFKA_GROUP_ID"));
        properties.put("client.id", Lab.text("KAFKA_CLIENT_ID"));
        properties.put("max.poll.records", "1");
        properties.put("key.deserializer", ByteArrayDeserializer.class);
        properties.put("value.deserializer", ByteArrayDeserializer.class);
        Lab.put(properties, "session.timeout.ms", "KAFKA_SESSION_TIMEOUT_MS");
        Lab.put(properties, "heartbeat.interval.ms", "KAFKA_HEARTBEAT_INTERVAL_MS");
        Lab.put(properties, "fetch.max.wait.ms", "KAFKA_FETCH_MAX_WAIT_MS");
        Lab.put(properties, "max.poll.interval.ms", "KAFKA_MAX_POLL_INTERVAL_MS");
        CountDownLatch left = new CountDownLatch(1);
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(properties)) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    left.await(5, TimeUnit.SECONDS);
                } catch (InterruptedException cutShort) {
                    Thread.currentThread().interrupt();
                }
            }));
            consumer.subscribe(List.of(Lab.text("KAFKA_TOPIC")));
            while (true) {
                for (ConsumerRecord<byte[], byte[]> ignored : consumer.poll(Duration.ofMillis(100))) {
                    Lab.handle();
                }
            }
        } catch (WakeupException woken) {
            // The consumer is closed by now, which has made it leave.
        } finally {
            left.countDown();
        }
    }
}
