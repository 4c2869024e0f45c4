import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;

/**
 * One pod of a Kafka Streams application: one thread that reads a topic, without state, and the library's own defaults,
 * but for max.poll.interval.ms where KAFKA_MAX_POLL_INTERVAL_MS has it. HANDLER_MS is how long a record takes.
 *
 * <p>The application's id is the group's, and it is ready when the library says that it runs. Metrics are the JMX agent's
 * business ({@code jmx.yaml}), where connections come from is that of {@link PodSockets}.
 */
public final class StreamsPod {
    private static final Duration LEAVE = Duration.ofSeconds(5);

    private StreamsPod() {}

    public static void main(String[] args) throws IOException {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", text("KAFKA_BROKERS"));
        properties.put("application.id", text("KAFKA_GROUP_ID"));
        properties.put("group.protocol", text("KAFKA_GROUP_PROTOCOL"));
        value("KAFKA_MAX_POLL_INTERVAL_MS").ifPresent(limit -> properties.put("max.poll.interval.ms", limit));
        long handlerMs = value("HANDLER_MS").map(Long::parseLong).orElse(0L);
        // Below the working directory of the pod's process: two on one machine must not share it.
        properties.put("state.dir", "streams-state-" + ProcessHandle.current().pid());
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(text("KAFKA_TOPIC"), Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
                .foreach((key, value) -> pause(handlerMs));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(LEAVE)));
        serveReadiness(new InetSocketAddress(text("POD_IP"), Integer.parseInt(text("PROBE_PORT"))), streams);
        streams.start();
    }

    private static void pause(long handlerMs) {
        try {
            Thread.sleep(handlerMs);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void serveReadiness(InetSocketAddress address, KafkaStreams streams) throws IOException {
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/readyz", exchange -> {
            boolean runs = streams.state() == KafkaStreams.State.RUNNING;
            byte[] body = (streams.state() + "\n").getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(runs ? 200 : 503, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    private static String text(String variable) {
        return value(variable).orElseGet(() -> {
            System.err.println(variable + " is not set, but the application needs it.");
            System.exit(1);
            return "";
        });
    }

    private static Optional<String> value(String variable) {
        return Optional.ofNullable(System.getenv(variable)).filter(value -> !value.isEmpty());
    }
}
