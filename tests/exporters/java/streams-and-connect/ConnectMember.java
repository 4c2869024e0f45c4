import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.connect.cli.ConnectDistributed;

/** A Connect worker without connectors, whose client ids are its own. It has no messages to handle. */
public final class ConnectMember {
    private ConnectMember() {}

    public static void main(String[] args) {
        String group = Member.text("KAFKA_GROUP_ID");
        Map<String, String> settings = new TreeMap<>(Map.of(
                "bootstrap.servers", Member.text("KAFKA_BROKERS"),
                "group.id", group,
                "session.timeout.ms", Member.text("KAFKA_SESSION_TIMEOUT_MS"),
                "heartbeat.interval.ms", Member.text("KAFKA_HEARTBEAT_INTERVAL_MS"),
                "key.converter", "org.apache.kafka.connect.converters.ByteArrayConverter",
                "value.converter", "org.apache.kafka.connect.converters.ByteArrayConverter",
                "listeners", "http://" + Member.text("POD_IP") + ":0",
                "plugin.discovery", "SERVICE_LOAD"));
        for (String topic : List.of("offset", "config", "status")) {
            settings.put(topic + ".storage.topic", group + "-" + topic);
            settings.put(topic + ".storage.replication.factor", "1");
        }
        settings.put("offset.storage.partitions", "1");
        settings.put("status.storage.partitions", "1");
        new ConnectDistributed().startConnect(settings).awaitStop();
    }
}
