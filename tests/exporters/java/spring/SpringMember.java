import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.KafkaListener;

/** A Spring Boot application as people write it: one listener; all else is Boot's own doing (application.properties). */
@SpringBootApplication
public class SpringMember {
    public static void main(String[] args) {
        SpringApplication.run(SpringMember.class, args);
    }

    @KafkaListener(id = "orders", groupId = "${KAFKA_GROUP_ID}", topics = "${KAFKA_TOPIC}")
    public void handle(byte[] message) throws InterruptedException {
        Member.handle(message);
    }
}
