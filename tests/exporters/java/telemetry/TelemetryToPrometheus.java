import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetryContext;
import org.apache.kafka.server.telemetry.ClientTelemetryExporter;
import org.apache.kafka.server.telemetry.ClientTelemetryExporterProvider;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;

/**
 * The plugin that a broker needs for KIP-714, as small as it can be: what a client pushes is OTLP already, and goes to
 * Prometheus' OTLP receiver as it came. The property {@code telemetry.url} says where that is.
 */
public final class TelemetryToPrometheus
        implements MetricsReporter, ClientTelemetryExporterProvider, ClientTelemetryExporter {
    private final HttpClient http = HttpClient.newHttpClient();
    private final URI receiver = URI.create(System.getProperty("telemetry.url"));

    @Override
    public ClientTelemetryExporter clientTelemetryExporter() {
        return this;
    }

    @Override
    public void exportMetrics(ClientTelemetryContext context, ClientTelemetryPayload payload) {
        byte[] metrics = new byte[payload.data().remaining()];
        payload.data().duplicate().get(metrics);
        HttpRequest push = HttpRequest.newBuilder(receiver)
                .header("Content-Type", "application/x-protobuf")
                .POST(HttpRequest.BodyPublishers.ofByteArray(metrics))
                .build();
        try {
            HttpResponse<String> answer = http.send(push, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                System.err.println("Prometheus answers " + answer.statusCode() + ": " + answer.body());
            }
        } catch (IOException error) {
            System.err.println("Prometheus does not answer: " + error);
        } catch (InterruptedException cutShort) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void init(List<KafkaMetric> metrics) {}

    @Override
    public void metricChange(KafkaMetric metric) {}

    @Override
    public void metricRemoval(KafkaMetric metric) {}

    @Override
    public void close() {}

    @Override
    public void configure(Map<String, ?> configs) {}
}
