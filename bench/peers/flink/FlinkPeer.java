package peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Flink by its DataStream API; peer.py says what it does and what not. */
public final class FlinkPeer {
    // "Data Types & Serialization": tuples and primitive types have serializers of their own.
    private static final TypeInformation<Tuple2<String, Integer>> SENT =
            Types.TUPLE(Types.STRING, Types.INT);
    private static final TypeInformation<Tuple2<String, byte[]>> RELEASED =
            Types.TUPLE(
                    Types.STRING, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO);

    private FlinkPeer() {}

    public static void main(String[] arguments) throws Exception {
        PeerCommand asked = PeerCommand.of(arguments);
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration());
        environment
                .fromSource(source(asked), WatermarkStrategy.noWatermarks(), "source")
                .keyBy(sent -> sent.f0, Types.STRING)
                .process(new Release(asked.model(), asked.epsilon()))
                .returns(RELEASED)
                .sinkTo(sink(asked));
        JobClient job = environment.executeAsync("peer");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> cancel(job)));
        // It returns only where the job failed.
        job.getJobExecutionResult().get();
    }

    private static void cancel(JobClient job) {
        try {
            job.cancel().get(10, TimeUnit.SECONDS);
        } catch (Exception error) {
            // The job is over already, or the JVM ends all the same.
        }
    }

    private static Configuration configuration() {
        String temporary = System.getProperty("java.io.tmpdir");
        return Configuration.fromMap(
                Map.ofEntries(
                        // "Execution Configuration": no copies between chained operators.
                        Map.entry("pipeline.object-reuse", "true"),
                        // One slot, as PyFlink has here: the broker shares the processors.
                        Map.entry("parallelism.default", "1"),
                        // "State Backends": the one that recovers what exceeds memory, and the only
                        // one with incremental checkpoints.
                        Map.entry("state.backend.type", "rocksdb"),
                        Map.entry("execution.checkpointing.incremental", "true"),
                        // "Tuning RocksDB": its caches are taken from managed memory.
                        Map.entry("taskmanager.memory.managed.size", "256m"),
                        // "Checkpointing": as often as Fugu.
                        Map.entry("execution.checkpointing.interval", "1s"),
                        Map.entry("execution.checkpointing.storage", "filesystem"),
                        Map.entry(
                                "execution.checkpointing.dir",
                                "file://" + temporary + "/checkpoints"),
                        Map.entry("io.tmp.dirs", temporary),
                        // "Streaming API overview", "Controlling Latency": 5 or 10 ms where latency
                        // matters; buffers that are full do not wait.
                        Map.entry("execution.buffer-timeout.interval", "10ms"),
                        // A failure ends the program, and the bench sees it.
                        Map.entry("restart-strategy.type", "none"),
                        Map.entry("rest.port", "0"),
                        Map.entry("rest.bind-port", "0")));
    }

    private static KafkaSource<Tuple2<String, Integer>> source(PeerCommand asked) {
        return KafkaSource.<Tuple2<String, Integer>>builder()
                .setBootstrapServers(asked.bootstrap())
                .setTopics(asked.source())
                .setGroupId(asked.sink())
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(new Decode(asked.model(), asked.epsilon()))
                .setProperty("max.poll.records", "5000")
                .build();
    }

    private static KafkaSink<Tuple2<String, byte[]>> sink(PeerCommand asked) {
        Properties producer = new Properties();
        // Kafka's "Producer Configs": large batches for throughput.
        producer.setProperty("linger.ms", "5");
        producer.setProperty("batch.size", "131072");
        return KafkaSink.<Tuple2<String, byte[]>>builder()
                .setBootstrapServers(asked.bootstrap())
                .setKafkaProducerConfig(producer)
                .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                .setRecordSerializer(new Encode(asked.sink()))
                .build();
    }

    private static CrrStep step(String model, double epsilon) {
        try {
            return new CrrStep(model, epsilon);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static final class Decode
            implements KafkaRecordDeserializationSchema<Tuple2<String, Integer>> {
        private static final long serialVersionUID = 1L;

        private final String model;
        private final double epsilon;
        private transient CrrStep step;

        Decode(String model, double epsilon) {
            this.model = model;
            this.epsilon = epsilon;
        }

        @Override
        public void open(DeserializationSchema.InitializationContext context) {
            step = step(model, epsilon);
        }

        @Override
        public void deserialize(
                ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, Integer>> out)
                throws IOException {
            String user = new String(record.key(), StandardCharsets.UTF_8);
            out.collect(Tuple2.of(user, step.decode(record.value())));
        }

        @Override
        public TypeInformation<Tuple2<String, Integer>> getProducedType() {
            return SENT;
        }
    }

    private static final class Release
            extends KeyedProcessFunction<String, Tuple2<String, Integer>, Tuple2<String, byte[]>> {
        private static final long serialVersionUID = 1L;

        private final String model;
        private final double epsilon;
        private transient CrrStep step;
        private transient ValueState<double[]> beliefs;

        Release(String model, double epsilon) {
            this.model = model;
            this.epsilon = epsilon;
        }

        @Override
        public void open(OpenContext context) {
            step = step(model, epsilon);
            beliefs =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "beliefs",
                                            PrimitiveArrayTypeInfo
                                                    .DOUBLE_PRIMITIVE_ARRAY_TYPE_INFO));
        }

        @Override
        public void processElement(
                Tuple2<String, Integer> sent,
                Context context,
                Collector<Tuple2<String, byte[]>> out)
                throws IOException {
            double[] belief = beliefs.value();
            if (belief == null) {
                belief = step.start();
            }
            byte[] released = step.release(belief, sent.f1);
            beliefs.update(belief);
            out.collect(Tuple2.of(sent.f0, released));
        }
    }

    private static final class Encode
            implements KafkaRecordSerializationSchema<Tuple2<String, byte[]>> {
        private static final long serialVersionUID = 1L;

        private final String topic;

        Encode(String topic) {
            this.topic = topic;
        }

        @Override
        public ProducerRecord<byte[], byte[]> serialize(
                Tuple2<String, byte[]> released, KafkaSinkContext context, Long timestamp) {
            byte[] key = released.f0.getBytes(StandardCharsets.UTF_8);
            return new ProducerRecord<>(topic, key, released.f1);
        }
    }
}
