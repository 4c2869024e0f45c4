import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;

/**
 * Makes connections come from the pod's own loopback address, so that the broker tells members apart as on a cluster.
 *
 * <p>kafka-clients has no setting for its local address, but every NIO channel of a JVM is made by one provider, which the
 * property {@code java.nio.channels.spi.SelectorProvider} names: this one binds what will be a client's connection to
 * {@code POD_IP} and leaves everything else to the JDK's provider.
 */
public final class PodSockets extends SelectorProvider {
    private final SelectorProvider jdk = sun.nio.ch.DefaultSelectorProvider.get();

    @Override
    public SocketChannel openSocketChannel() throws IOException {
        SocketChannel channel = jdk.openSocketChannel();
        try {
            return channel.bind(new InetSocketAddress(System.getenv("POD_IP"), 0));
        } catch (IOException error) {
            channel.close();
            throw error;
        }
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        return jdk.openServerSocketChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return jdk.openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return jdk.openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return jdk.openPipe();
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        return jdk.openSelector();
    }
}
