import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.connect.cli.ConnectDistributed;

/** A Connect worker, set by CONNECT_ variables as the usual images are; it has no connectors. */
public final class ConnectWorker {
    private ConnectWorker() {}

    public static void main(String[] args) throws IOException {
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
        Path file = Files.createTempFile(Path.of(Lab.text("STATE_DIR")), "connect-", ".properties");
        Files.writeString(file, settings.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .collect(Collectors.joining("\n")));
        ConnectDistributed.main(new String[] {file.toString()});
    }
}
