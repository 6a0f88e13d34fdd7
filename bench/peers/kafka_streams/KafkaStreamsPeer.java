package peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams by its Processor API; peer.py says what it does and what not. */
public final class KafkaStreamsPeer {
    private static final String STORE = "beliefs";
    private static final Duration STOP = Duration.ofSeconds(15);

    private KafkaStreamsPeer() {}

    public static void main(String[] arguments) {
        PeerCommand asked = PeerCommand.of(arguments);
        KafkaStreams streams = new KafkaStreams(topology(asked), settings(asked));
        streams.setUncaughtExceptionHandler(
                error -> {
                    error.printStackTrace();
                    // An exit before SIGTERM is what the bench takes for a failure.
                    Runtime.getRuntime().halt(1);
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(STOP)));
        streams.start();
    }

    private static Topology topology(PeerCommand asked) {
        // "Processor API", "State Stores": RocksDB and a changelog topic are the default.
        // "Memory Management", "Record caches in the Processor API": writes of one key until the
        // next commit become one write to RocksDB and one to the changelog.
        var store =
                Stores.keyValueStoreBuilder(
                                Stores.persistentKeyValueStore(STORE),
                                Serdes.ByteArray(),
                                beliefs())
                        .withCachingEnabled()
                        .withLoggingEnabled(Map.of());
        return new Topology()
                .addSource("source", asked.source())
                .addProcessor("release", () -> new Release(asked), "source")
                .addStateStore(store, "release")
                .addSink("sink", asked.sink(), "release");
    }

    private static Properties settings(PeerCommand asked) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, asked.sink());
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, asked.bootstrap());
        settings.put(StreamsConfig.STATE_DIR_CONFIG, System.getProperty("java.io.tmpdir"));
        settings.put(
                StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArray().getClass());
        settings.put(
                StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArray().getClass());
        settings.put(
                StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
                asked.mode().equals("exactly-once")
                        ? StreamsConfig.EXACTLY_ONCE_V2
                        : StreamsConfig.AT_LEAST_ONCE);
        // One stream thread, the default, as Fugu has one dataflow and Flink one slot here: broker
        // and peer share the processors. Compare CPU seconds.
        // As often as Fugu, with both guarantees (defaults: 30 s and 0.1 s). "Configuring a Streams
        // Application": frequent commits cost throughput.
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1_000);
        // "Memory Management": large enough for the beliefs of all users, or entries are evicted
        // before the commit. Four stores share it.
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 64 << 20);
        // "Configuring a Streams Application": records of a partition that are buffered, and of a
        // poll; both are 1,000 by default.
        settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 5_000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5_000);
        // "Producer Configs": large batches for throughput; Kafka Streams itself would wait 100 ms
        // to fill them.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 131_072);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 5);
        return settings;
    }

    private static Serde<double[]> beliefs() {
        return Serdes.serdeFrom(
                (topic, belief) -> {
                    if (belief == null) {
                        return null;
                    }
                    ByteBuffer bytes = ByteBuffer.allocate(belief.length * Double.BYTES);
                    bytes.asDoubleBuffer().put(belief);
                    return bytes.array();
                },
                (topic, bytes) -> {
                    if (bytes == null) {
                        return null;
                    }
                    double[] belief = new double[bytes.length / Double.BYTES];
                    ByteBuffer.wrap(bytes).asDoubleBuffer().get(belief);
                    return belief;
                });
    }

    private static final class Release implements Processor<byte[], byte[], byte[], byte[]> {
        private final CrrStep step;
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<byte[], double[]> store;

        Release(PeerCommand asked) {
            try {
                step = new CrrStep(asked.model(), asked.epsilon());
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            store = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            double[] belief = store.get(record.key());
            if (belief == null) {
                belief = step.start();
            }
            byte[] released;
            try {
                released = step.release(belief, step.decode(record.value()));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            store.put(record.key(), belief);
            context.forward(record.withValue(released));
        }
    }
}
