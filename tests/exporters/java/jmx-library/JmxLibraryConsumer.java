import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.exporter.httpserver.HTTPServer;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import java.io.File;
import java.io.IOException;
import javax.management.MalformedObjectNameException;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A consumer that has the JMX exporter in it as a library, as the agent has; RULES is its file of rules. */
public final class JmxLibraryConsumer {
    private JmxLibraryConsumer() {}

    public static void main(String[] args) throws IOException, InterruptedException, MalformedObjectNameException {
        JvmMetrics.builder().register();
        new JmxCollector(new File(Member.text("RULES"))).register();
        HTTPServer.builder()
                .hostname(Member.text("POD_IP"))
                .port(Integer.parseInt(Member.text("METRICS_PORT")))
                .buildAndStart();
        Member.consume(new KafkaConsumer<>(Member.properties()));
    }
}
