import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A consumer that exports nothing by itself: its metrics are an agent's business, or a reporter's. */
public final class PlainConsumer {
    private PlainConsumer() {}

    public static void main(String[] args) throws InterruptedException {
        Member.consume(new KafkaConsumer<>(Member.properties()));
    }
}
