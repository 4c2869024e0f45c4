import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.config.ConfigResource;

/** A consumer whose broker asks it for its metrics (KIP-714): it sets that subscription itself, before it consumes. */
public final class TelemetryConsumer {
    private TelemetryConsumer() {}

    public static void main(String[] args) throws ExecutionException, InterruptedException {
        Properties given = new Properties();
        given.put("bootstrap.servers", Member.text("KAFKA_BROKERS"));
        try (Admin admin = Admin.create(given)) {
            ConfigResource all = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "recorded");
            List<AlterConfigOp> subscription = List.of(
                    new AlterConfigOp(new ConfigEntry("metrics", "*"), AlterConfigOp.OpType.SET),
                    new AlterConfigOp(new ConfigEntry("interval.ms", "5000"), AlterConfigOp.OpType.SET));
            admin.incrementalAlterConfigs(Map.of(all, subscription)).all().get();
        }
        Member.consume(new KafkaConsumer<>(Member.properties()));
    }
}
