import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;

/** A Kafka Streams application with one thread, whose client ids are the library's own. */
public final class StreamsMember {
    private StreamsMember() {}

    public static void main(String[] args) {
        Properties properties = Member.properties();
        properties.put("application.id", properties.remove("group.id"));
        properties.remove("key.deserializer");
        properties.remove("value.deserializer");
        properties.put("state.dir", "state");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(Member.text("KAFKA_TOPIC"), Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
                .foreach((key, value) -> {
                    try {
                        Member.handle(value);
                    } catch (InterruptedException cutShort) {
                        Thread.currentThread().interrupt();
                    }
                });
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
        streams.start();
    }
}
