import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One pod of a Java consumer group: reads its settings from the environment, consumes, and says when it has joined.
 *
 * <p>Where KAFKA_GROUP_PROTOCOL is {@code share}, it is a member of a share group, which has no rebalance listener: it has
 * joined, as far as it knows, when it has polled. Else it is a consumer as people write them: one thread that polls and handles, automatic commits, a rebalance listener,
 * and the library's own defaults wherever a variable is not set; no client.id either, so that the library makes its usual
 * {@code consumer-<group>-1}. One record per poll: the time of one handling is the time between two polls. Metrics are
 * the JMX agent's business ({@code jmx.yaml}), where connections come from is that of {@link PodSockets}.
 */
public final class Consumer implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long LEAVE_MARGIN_S = 5;
    private static final String SHARE = "share";

    private final CountDownLatch stopping = new CountDownLatch(1);
    private final CountDownLatch left = new CountDownLatch(1);
    private volatile boolean hasJoined;

    public static void main(String[] args) {
        try {
            new Consumer().run();
        } catch (RefusedException refused) {
            fail(refused.getMessage());
        } catch (KafkaException | IOException | InterruptedException error) {
            fail("The consumer ended: " + error.getMessage());
        }
    }

    private void run() throws IOException, InterruptedException {
        Properties properties = properties();
        String topic = text("KAFKA_TOPIC");
        long handlerMs = number("HANDLER_MS", 0).orElse(0);
        InetSocketAddress probed = new InetSocketAddress(text("POD_IP"), (int) required("PROBE_PORT"));
        if (SHARE.equals(properties.get(ConsumerConfig.GROUP_PROTOCOL_CONFIG))) {
            share(properties, topic, handlerMs, probed);
            return;
        }
        try (KafkaConsumer<byte[], byte[]> consumer = create(properties)) {
            serveReadiness(probed);
            leaveOnSignal(consumer::wakeup);
            consumer.subscribe(List.of(topic), this);
            while (stopping.getCount() > 0) {
                if (!consumer.poll(POLL).isEmpty()) {
                    stopping.await(handlerMs, TimeUnit.MILLISECONDS);
                }
            }
        } catch (WakeupException asked) {
            // The signal came during a poll. The consumer is closed by now, which has made it leave.
        } finally {
            left.countDown();
        }
    }

    private void share(Properties properties, String topic, long handlerMs, InetSocketAddress probed)
            throws IOException, InterruptedException {
        properties.remove(ConsumerConfig.GROUP_PROTOCOL_CONFIG);
        properties.remove(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG); // the group has it, at the broker
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(properties)) {
            serveReadiness(probed);
            leaveOnSignal(consumer::wakeup);
            consumer.subscribe(List.of(topic));
            while (stopping.getCount() > 0) {
                if (!consumer.poll(POLL).isEmpty()) {
                    stopping.await(handlerMs, TimeUnit.MILLISECONDS);
                }
                hasJoined = true;
            }
        } catch (WakeupException asked) {
            // The signal came during a poll, and the consumer is closed by now.
        } finally {
            left.countDown();
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        // Once is enough: a group that rebalances for ever must not also hold up its own rollout.
        hasJoined = true;
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        // Offsets are committed by the library; what is lost goes the same way.
    }

    private static KafkaConsumer<byte[], byte[]> create(Properties properties) {
        try {
            return new KafkaConsumer<>(properties);
        } catch (KafkaException | IllegalArgumentException error) {
            Throwable reason = error.getCause() == null ? error : error.getCause();
            throw new RefusedException("kafka-clients refuses these settings: " + reason.getMessage());
        }
    }

    private void serveReadiness(InetSocketAddress address) throws IOException {
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/readyz", exchange -> {
            byte[] body = (hasJoined ? "has joined its group\n" : "has not joined its group yet\n")
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(hasJoined ? 200 : 503, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    /** The JVM ends when its shutdown hooks have, so this one waits until the group has been left. */
    private void leaveOnSignal(Runnable wakeUp) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping.countDown();
            wakeUp.run();
            try {
                left.await(LEAVE_MARGIN_S, TimeUnit.SECONDS);
            } catch (InterruptedException cutShort) {
                Thread.currentThread().interrupt();
            }
        }));
    }

    private static Properties properties() {
        Properties properties = new Properties();
        properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, text("KAFKA_BROKERS"));
        properties.put(ConsumerConfig.GROUP_ID_CONFIG, text("KAFKA_GROUP_ID"));
        properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1);
        properties.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        properties.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        putMs(properties, ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, "KAFKA_SESSION_TIMEOUT_MS");
        putMs(properties, ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, "KAFKA_HEARTBEAT_INTERVAL_MS");
        putMs(properties, ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, "KAFKA_MAX_POLL_INTERVAL_MS");
        putMs(properties, ConsumerConfig.AUTO_COMMIT_INTERVAL_MS_CONFIG, "KAFKA_AUTO_COMMIT_INTERVAL_MS");
        String instanceId = System.getenv("KAFKA_GROUP_INSTANCE_ID");
        if (instanceId != null && !instanceId.isEmpty()) { // the library refuses an empty one
            properties.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, instanceId);
        }
        if (System.getenv("KAFKA_GROUP_PROTOCOL") != null) {
            properties.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, System.getenv("KAFKA_GROUP_PROTOCOL"));
        }
        return properties;
    }

    private static void putMs(Properties properties, String setting, String variable) {
        number(variable, 1).ifPresent(value -> properties.put(setting, Long.toString(value)));
    }

    private static String text(String variable) {
        String value = System.getenv(variable);
        if (value == null || value.isEmpty()) {
            throw new RefusedException(variable + " is not set, but the consumer needs it.");
        }
        return value;
    }

    private static long required(String variable) {
        text(variable);
        return number(variable, 1).getAsLong();
    }

    /** The variable as a whole number of at least {@code least}; empty when there is no such variable. */
    private static OptionalLong number(String variable, long least) {
        String value = System.getenv(variable);
        if (value == null) {
            return OptionalLong.empty();
        }
        if (!value.matches("[0-9]{1,15}") || Long.parseLong(value) < least) {
            String rule = least > 0 ? "a positive integer" : "zero or a positive integer";
            throw new RefusedException(variable + " is \"" + value + "\", but it must be " + rule + ".");
        }
        return OptionalLong.of(Long.parseLong(value));
    }

    private static void fail(String sentence) {
        System.err.println(sentence);
        System.exit(1);
    }

    /** Settings that cannot work; the message is for the person who set them. */
    private static final class RefusedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        RefusedException(String sentence) {
            super(sentence);
        }
    }
}
