import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/** What the lab's consumers in Java have in common: settings from the environment, handlers, the way to end. */
final class Lab {
    private Lab() {}

    static String text(String variable) {
        String value = System.getenv(variable);
        if (value == null || value.isEmpty()) {
            System.err.println(variable + " is not set, but the consumer needs it.");
            System.exit(1);
        }
        return value;
    }

    /** Set what a variable says, if it is set: the library's default holds else. */
    static void put(Properties properties, String setting, String variable) {
        String value = System.getenv(variable);
        if (value != null) {
            properties.put(setting, value);
        }
    }

    /** Handle one message as HANDLER says; the duration is HANDLER_MS. */
    static void handle() throws InterruptedException {
        long ms = Long.parseLong(System.getenv().getOrDefault("HANDLER_MS", "0"));
        switch (System.getenv().getOrDefault("HANDLER", "none")) {
            case "wait" -> Thread.sleep(ms);
            case "block" -> {
                long until = System.nanoTime() + ms * 1_000_000;
                while (System.nanoTime() < until) {
                    Thread.onSpinWait();
                }
            }
            case "hang" -> new CountDownLatch(1).await();
            default -> { }
        }
    }
}
