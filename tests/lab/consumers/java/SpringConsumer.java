import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;

/** Spring Kafka: a listener container, set by the variables that Spring Boot binds. */
public final class SpringConsumer {
    private SpringConsumer() {}

    public static void main(String[] args) {
        Properties given = new Properties();
        Lab.put(given, "session.timeout.ms", "SPRING_KAFKA_CONSUMER_PROPERTIES_SESSION_TIMEOUT_MS");
        Lab.put(given, "heartbeat.interval.ms", "SPRING_KAFKA_CONSUMER_HEARTBEATINTERVAL");
        Lab.put(given, "fetch.max.wait.ms", "SPRING_KAFKA_CONSUMER_FETCHMAXWAIT");
        Lab.put(given, "max.poll.interval.ms", "SPRING_KAFKA_CONSUMER_MAXPOLLINTERVAL");
        Map<String, Object> settings = new HashMap<>();
        given.forEach((name, value) -> settings.put((String) name, value));
        settings.put("bootstrap.servers", Lab.text("KAFKA_BROKERS"));
        settings.put("group.id", Lab.text("KAFKA_GROUP_ID"));
        settings.put("client.id", Lab.text("KAFKA_CLIENT_ID"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", "1");
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        ContainerProperties container = new ContainerProperties(Lab.text("KAFKA_TOPIC"));
        container.setClientId("");
        container.setMessageListener((MessageListener<byte[], byte[]>) message -> {
            try {
                Lab.handle();
            } catch (InterruptedException cutShort) {
                Thread.currentThread().interrupt();
            }
        });
        KafkaMessageListenerContainer<byte[], byte[]> listening =
                new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(settings), container);
        Runtime.getRuntime().addShutdownHook(new Thread(listening::stop));
        listening.start();
    }
}
