import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.runtime.Connect;
import org.apache.kafka.connect.runtime.Herder;
import org.apache.kafka.connect.runtime.distributed.DistributedHerder;

/**
 * A Connect worker, set by CONNECT_ variables as the usual images are; it has no connectors. A message is a signal to
 * keep its herder, the thread of work that has to poll the group, as HANDLER says.
 */
public final class ConnectWorker {
    private ConnectWorker() {}

    public static void main(String[] args) {
        String group = Lab.text("KAFKA_GROUP_ID");
        Map<String, String> settings = new TreeMap<>(Map.of(
                "bootstrap.servers", Lab.text("KAFKA_BROKERS"),
                "group.id", group,
                "client.id", Lab.text("KAFKA_CLIENT_ID"),
                "key.converter", "org.apache.kafka.connect.converters.ByteArrayConverter",
                "value.converter", "org.apache.kafka.connect.converters.ByteArrayConverter",
                "listeners", "http://127.0.0.1:0",
                "plugin.discovery", "SERVICE_LOAD"));
        for (String topic : List.of("offset", "config", "status")) {
            settings.put(topic + ".storage.topic", group + "-" + topic);
            settings.put(topic + ".storage.replication.factor", "1");
        }
        settings.put("offset.storage.partitions", "1");
        settings.put("status.storage.partitions", "1");
        System.getenv().forEach((variable, value) -> {
            if (variable.startsWith("CONNECT_")) {
                settings.put(variable.substring("CONNECT_".length()).toLowerCase(Locale.ROOT).replace('_', '.'), value);
            }
        });
        Connect<DistributedHerder> worker = new ConnectDistributed().startConnect(settings);
        if ("hang".equals(System.getenv("HANDLER"))) {
            awaitMessage();
            keepBusy(worker.herder());
        }
        worker.awaitStop();
    }

    private static void awaitMessage() {
        Map<String, Object> reading = Map.of(
                "bootstrap.servers", Lab.text("KAFKA_BROKERS"),
                "auto.offset.reset", "earliest",
                "key.deserializer", ByteArrayDeserializer.class,
                "value.deserializer", ByteArrayDeserializer.class);
        try (KafkaConsumer<byte[], byte[]> reader = new KafkaConsumer<>(reading)) {
            reader.assign(List.of(new TopicPartition(Lab.text("KAFKA_TOPIC"), 0)));
            while (reader.poll(Duration.ofSeconds(1)).isEmpty()) {
                // Nobody has sent it yet.
            }
        }
    }

    /** Answers to requests are given by the herder's own thread, so one that does not return keeps it. */
    private static void keepBusy(Herder herder) {
        herder.connectors((error, names) -> {
            try {
                Lab.handle();
            } catch (InterruptedException cutShort) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
