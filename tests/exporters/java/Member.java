import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What the recorded consumers in Java have in common: settings from the environment, the handling of a message, and the
 * loop of poll and handle, which leaves the group on a signal. Everything that has no variable is the library's default,
 * client.id too: the library makes its usual {@code consumer-<group>-1}.
 */
final class Member {
    private static final long LEAVE_MARGIN_S = 5;

    private Member() {}

    static String text(String variable) {
        String value = System.getenv(variable);
        if (value == null || value.isEmpty()) {
            System.err.println(variable + " is not set, but the consumer needs it.");
            System.exit(1);
        }
        return value;
    }

    static Properties properties() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", text("KAFKA_BROKERS"));
        properties.put("group.id", text("KAFKA_GROUP_ID"));
        properties.put("auto.offset.reset", "earliest");
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        put(properties, "group.protocol", "KAFKA_GROUP_PROTOCOL");
        put(properties, "session.timeout.ms", "KAFKA_SESSION_TIMEOUT_MS");
        put(properties, "heartbeat.interval.ms", "KAFKA_HEARTBEAT_INTERVAL_MS");
        put(properties, "max.poll.interval.ms", "KAFKA_MAX_POLL_INTERVAL_MS");
        return properties;
    }

    private static void put(Properties properties, String setting, String variable) {
        String value = System.getenv(variable);
        if (value != null) {
            properties.put(setting, value);
        }
    }

    /** Poll and handle until a signal comes, then leave. */
    static void consume(KafkaConsumer<byte[], byte[]> consumer) throws InterruptedException {
        CountDownLatch left = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                left.await(LEAVE_MARGIN_S, TimeUnit.SECONDS);
            } catch (InterruptedException cutShort) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.subscribe(List.of(text("KAFKA_TOPIC")));
        try (consumer) {
            while (true) {
                for (ConsumerRecord<byte[], byte[]> message : consumer.poll(Duration.ofMillis(100))) {
                    handle(message.value());
                }
            }
        } catch (WakeupException told) {
            // The consumer is closed by now, which has made it leave.
        } finally {
            left.countDown();
        }
    }

    /** Handle "for MS" or "until MS since 1970". */
    static void handle(byte[] value) throws InterruptedException {
        String[] words = new String(value, StandardCharsets.US_ASCII).split(" ");
        long ms = Long.parseLong(words[1]);
        Thread.sleep(words[0].equals("until") ? Math.max(0, ms - System.currentTimeMillis()) : ms);
    }
}
