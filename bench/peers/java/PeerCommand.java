package peers;

import java.util.HashMap;
import java.util.Map;

/** What every peer is told: {@code --bootstrap}, {@code --source}, {@code --sink} and so on. */
public record PeerCommand(
        String bootstrap, String source, String sink, String model, double epsilon, String mode) {

    /** Reads pairs of an option and its value. */
    public static PeerCommand of(String[] arguments) {
        Map<String, String> told = new HashMap<>();
        for (int place = 0; place + 1 < arguments.length; place += 2) {
            told.put(arguments[place], arguments[place + 1]);
        }
        return new PeerCommand(
                told.get("--bootstrap"),
                told.get("--source"),
                told.get("--sink"),
                told.get("--model"),
                Double.parseDouble(told.get("--epsilon")),
                told.get("--mode"));
    }
}
