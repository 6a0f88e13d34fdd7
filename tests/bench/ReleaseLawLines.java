import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import peers.ReleaseLaw;

/** Draws what lines of numbers ask for: epsilon, the chain's rows, then symbol, uniform, belief. */
public final class ReleaseLawLines {
    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        double epsilon = numbers(lines.readLine())[0];
        double[] row = numbers(lines.readLine());
        double[][] chain = new double[row.length][];
        chain[0] = row;
        for (int symbol = 1; symbol < chain.length; symbol++) {
            chain[symbol] = numbers(lines.readLine());
        }
        ReleaseLaw law = new ReleaseLaw(chain, epsilon);
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            double[] asked = numbers(line);
            double[] belief = Arrays.copyOfRange(asked, 2, asked.length);
            int released = law.release(belief, (int) asked[0], asked[1]);
            out.append(released).append(' ').append(law.confidence(released));
            for (double share : belief) {
                out.append(' ').append(share);
            }
            out.append('\n');
        }
        System.out.print(out);
    }

    private static double[] numbers(String line) {
        return Arrays.stream(line.split(" ")).mapToDouble(Double::parseDouble).toArray();
    }
}
