import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;

/** Kafka Streams: one thread that handles each message. */
public final class StreamsApp {
    private StreamsApp() {}

    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", Lab.text("KAFKA_BROKERS"));
        properties.put("application.id", Lab.text("KAFKA_GROUP_ID"));
        properties.put("client.id", Lab.text("KAFKA_CLIENT_ID"));
        properties.put("state.dir", Lab.text("STATE_DIR"));
        Lab.put(properties, "group.protocol", "KAFKA_GROUP_PROTOCOL");
        Lab.put(properties, "session.timeout.ms", "KAFKA_SESSION_TIMEOUT_MS");
        Lab.put(properties, "heartbeat.interval.ms", "KAFKA_HEARTBEAT_INTERVAL_MS");
        Lab.put(properties, "fetch.max.wait.ms", "KAFKA_FETCH_MAX_WAIT_MS");
        Lab.put(properties, "max.poll.interval.ms", "KAFKA_MAX_POLL_INTERVAL_MS");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(Lab.text("KAFKA_TOPIC"), Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
                .foreach((key, value) -> {
                    try {
                        Lab.handle();
                    } catch (InterruptedException cutShort) {
                        Thread.currentThread().interrupt();
                    }
                });
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
        streams.start();
    }
}
