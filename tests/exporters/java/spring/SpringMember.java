import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

/** A Spring Boot application as people write it: one listener; all else is Boot's own doing (application.properties). */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration // without a scan: it would find all of Boot, from a program without a package
public class SpringMember {
    public static void main(String[] args) {
        SpringApplication.run(SpringMember.class, args);
    }

    @KafkaListener(id = "orders", groupId = "${KAFKA_GROUP_ID}", topics = "${KAFKA_TOPIC}")
    public void handle(byte[] message) throws InterruptedException {
        Member.handle(message);
    }
}
