import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics;
import io.micrometer.core.instrument.binder.kafka.KafkaConsumerMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A consumer measured by Micrometer: BINDER says by which of its two binders, "client" or the deprecated "jmx". */
public final class MicrometerConsumer {
    private MicrometerConsumer() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        List.of(new JvmGcMetrics(), new JvmMemoryMetrics(), new ProcessorMetrics(), new UptimeMetrics())
                .forEach(binder -> binder.bindTo(registry));
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Member.properties());
        binder(consumer).bindTo(registry);
        serve(registry);
        Member.consume(consumer);
    }

    @SuppressWarnings("deprecation") // it is recorded because people still have it
    private static MeterBinder binder(KafkaConsumer<?, ?> consumer) {
        if (Member.text("BINDER").equals("jmx")) {
            return new KafkaConsumerMetrics();
        }
        return new KafkaClientMetrics(consumer, List.of(Tag.of("application", "recorded")));
    }

    private static void serve(PrometheusMeterRegistry registry) throws IOException {
        int port = Integer.parseInt(Member.text("METRICS_PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(Member.text("POD_IP"), port), 0);
        server.createContext("/metrics", exchange -> {
            byte[] body = registry.scrape().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
