package peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Releases one record: the counterpart of {@code crr_step.py} for programs in Java.
 *
 * <p>It needs Jackson. One thread at a time may use an instance.
 */
public final class CrrStep {
    private static final int STEPS = 10_000;

    // Jackson's "Presentation: Jackson Performance": reuse the factory; the streaming API is the
    // fastest of all.
    private final JsonFactory json = new JsonFactory();
    private final Map<String, Integer> index = new HashMap<>();
    private final ReleaseLaw law;
    private final double[] prior;
    private final byte[][] starts;
    private final byte[][] ends = new byte[STEPS + 1][];

    /** Reads a model file as `fugu model` writes it. */
    public CrrStep(String file, double epsilon) throws IOException {
        JsonNode model = new ObjectMapper().readTree(new File(file));
        double smoothing = model.get("smoothing").doubleValue();
        JsonNode alphabet = model.get("alphabet");
        JsonNode transition = model.get("transition");
        int symbols = alphabet.size();
        starts = new byte[symbols][];
        double[][] chain = new double[symbols][];
        for (int symbol = 0; symbol < symbols; symbol++) {
            index.put(alphabet.get(symbol).textValue(), symbol);
            starts[symbol] = bytes("{\"zone\":" + alphabet.get(symbol) + ",\"confidence\":");
            chain[symbol] = smoothed(transition.get(symbol), smoothing);
        }
        for (int step = 0; step <= STEPS; step++) {
            ends[step] = bytes(String.format(Locale.ROOT, "%.4f}", (double) step / STEPS));
        }
        prior = smoothed(model.get("prior"), smoothing);
        law = new ReleaseLaw(chain, epsilon);
    }

    /** Returns the belief about a user of whom nothing was released. */
    public double[] start() {
        return prior.clone();
    }

    /** Returns the value of the released record; the belief advances in place. */
    public byte[] release(double[] belief, int symbol) {
        int released = law.release(belief, symbol, ThreadLocalRandom.current().nextDouble());
        byte[] start = starts[released];
        byte[] end = ends[(int) (law.confidence(released) * STEPS + 0.5)];
        byte[] value = new byte[start.length + end.length];
        System.arraycopy(start, 0, value, 0, start.length);
        System.arraycopy(end, 0, value, start.length, end.length);
        return value;
    }

    /** Returns the symbol of a raw record, which is read to its end as by all other peers. */
    public int decode(byte[] value) throws IOException {
        Integer symbol = null;
        try (JsonParser parser = json.createParser(value)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean wanted = parser.currentName().equals("zone");
                parser.nextToken();
                if (wanted) {
                    symbol = index.get(parser.getText());
                } else {
                    parser.skipChildren();
                }
            }
        }
        if (symbol == null) {
            throw new IOException("a record of the source names no zone of the alphabet");
        }
        return symbol;
    }

    private static double[] smoothed(JsonNode row, double smoothing) {
        double total = 0.0;
        for (JsonNode share : row) {
            total += share.doubleValue();
        }
        double[] result = new double[row.size()];
        for (int symbol = 0; symbol < result.length; symbol++) {
            double share = row.get(symbol).doubleValue() / total;
            result[symbol] = (1.0 - smoothing) * share + smoothing / result.length;
        }
        return result;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
