import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A consumer whose metrics reporter is Strimzi's: it serves Prometheus without JMX. */
public final class StrimziConsumer {
    private StrimziConsumer() {}

    public static void main(String[] args) throws InterruptedException {
        Properties properties = Member.properties();
        properties.put("metric.reporters", "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter");
        String listener = "http://" + Member.text("POD_IP") + ":" + Member.text("METRICS_PORT");
        properties.put("prometheus.metrics.reporter.listener", listener);
        Member.consume(new KafkaConsumer<>(properties));
    }
}
