package peers;

import java.util.Arrays;

/**
 * Draws releases of conditional randomized response, as {@code crr_compiled.py} does, whose names
 * and order of additions are kept. A test compares both.
 *
 * <p>One thread at a time may use an instance: its scratch arrays are reused.
 */
public final class ReleaseLaw {
    private static final double TIE = 1e-12;

    private final int symbols;
    private final double[][] chain;
    private final double gain;
    private final double growth;
    private final double floor;
    private final int[] order;
    private final double[] accuracies;
    private final double[] fills;
    private final double[] shares;
    private final double[] masses;
    private final double[] marginals;
    private final double[] posterior;

    private int kept;
    private int partial;
    private double own;
    private double into;

    public ReleaseLaw(double[][] chain, double epsilon) {
        this.symbols = chain.length;
        this.chain = chain;
        this.gain = Math.expm1(epsilon);
        this.growth = Math.exp(epsilon);
        this.floor = 1.0 / (growth + 1.0);
        this.order = new int[symbols];
        this.accuracies = new double[symbols];
        this.fills = new double[symbols];
        this.shares = new double[symbols];
        this.masses = new double[symbols];
        this.marginals = new double[symbols];
        this.posterior = new double[symbols];
    }

    /** Returns the released symbol; the belief advances in place. */
    public int release(double[] belief, int symbol, double uniform) {
        rank(belief);
        choose(belief);
        int released = order[0];
        if (kept == 1 && partial < 0) {
            System.arraycopy(belief, 0, posterior, 0, symbols);
        } else {
            released = draw(belief, symbol, uniform, released);
            observe(belief, released);
        }
        predict(belief);
        return released;
    }

    /** Returns the posterior probability of a symbol after the last release. */
    public double confidence(int symbol) {
        return posterior[symbol];
    }

    /** Sorts symbols by belief, by insertion: the order of equal beliefs stays. */
    private void rank(double[] belief) {
        for (int y = 0; y < symbols; y++) {
            int place = y;
            while (place > 0 && belief[order[place - 1]] < belief[y]) {
                order[place] = order[place - 1];
                place--;
            }
            order[place] = y;
        }
    }

    /** Decides how many symbols are kept, by closed forms of the expected accuracy. */
    private void choose(double[] belief) {
        double first = belief[order[0]];
        double keptMass = 0.0;
        double bigSquares = 0.0;
        double smallSquares = 0.0;
        double smallMass = 0.0;
        double deficit = 0.0;
        int smallCount = 0;
        double best = -1.0;
        int lacking = 0;
        double lackingRest = 0.0;
        double lackingDeficit = 0.0;
        for (int count = 1; count <= symbols; count++) {
            double b = belief[order[count - 1]];
            keptMass += b;
            if (b < floor) {
                smallSquares += b * b;
                smallMass += b;
                smallCount++;
                deficit += floor - b;
            } else {
                bigSquares += b * b;
            }
            double rest = Math.max(0.0, 1.0 - keptMass);
            double accuracy;
            if (count == 1) {
                accuracy = b;
            } else if (rest >= deficit) {
                double surplus = rest - deficit;
                accuracy = bigSquares + floor * smallMass + first * surplus + gain * keptMass;
                accuracy /= growth;
            } else {
                double share = rest / deficit;
                double lifted = smallCount * floor - smallMass;
                double hit = bigSquares + smallMass;
                hit -= growth * (smallSquares + share * (floor * smallMass - smallSquares));
                double repaired = keptMass - smallMass + smallCount;
                repaired -= growth * (smallMass + share * lifted);
                accuracy = (hit + gain * keptMass) / (gain + repaired);
            }
            if (rest > deficit && deficit > 0.0) {
                lacking = count;
                lackingRest = rest;
                lackingDeficit = deficit;
            }
            accuracies[count - 1] = accuracy;
            best = Math.max(best, accuracy);
        }
        kept = symbols;
        while (accuracies[kept - 1] < best - TIE) {
            kept--;
        }
        partial = -1;
        own = 0.0;
        into = 0.0;
        if (0 < lacking && lacking < symbols) {
            keepInPart(belief, lacking, lackingRest, lackingDeficit, best);
        }
    }

    /** Keeps one symbol more in part where that is better. */
    private void keepInPart(
            double[] belief, int lacking, double rest, double deficit, double best) {
        int candidate = order[lacking];
        double b = belief[candidate];
        double surplus = rest - deficit;
        if (surplus >= floor || rest < floor || b >= floor) {
            return;
        }
        double some = (growth + 1.0) * surplus;
        double others = rest - b;
        double inPart =
                Math.min(Math.max(surplus * (1.0 - (growth + 1.0) * b) / others, 0.0), 1.0);
        double spread = others * (1.0 - inPart) + b * (1.0 - some);
        double marginal = b * some + others * inPart;
        double total = Math.max(marginal, Math.max(some, inPart) - growth * marginal);
        double hit = b * total + gain * b * some;
        for (int place = 0; place < lacking; place++) {
            b = belief[order[place]];
            marginal = b + spread * Math.max(0.0, floor - b) / deficit;
            double mass = Math.max(marginal, 1.0 - growth * marginal);
            hit += b * mass + gain * b;
            total += mass;
        }
        if (hit / (gain + total) > best + TIE) {
            kept = lacking;
            partial = candidate;
            own = some;
            into = inPart;
        }
    }

    /** Makes the proposal, repairs it, and draws by inversion in the order of symbols. */
    private int draw(double[] belief, int symbol, double uniform, int released) {
        // What moves to each kept symbol; -1 marks those that are not kept.
        for (int y = 0; y < symbols; y++) {
            fills[y] = -1.0;
            shares[y] = 0.0;
        }
        double rest = 0.0;
        double deficit = 0.0;
        for (int place = 0; place < symbols; place++) {
            double b = belief[order[place]];
            if (place < kept) {
                deficit += Math.max(0.0, floor - b);
            } else {
                rest += b;
            }
        }
        double scale = partial >= 0 ? deficit : Math.max(rest, deficit);
        if (scale == 0.0) {
            scale = 1.0;
        }
        double total = 0.0;
        for (int place = 0; place < kept; place++) {
            int y = order[place];
            shares[y] = Math.max(0.0, floor - belief[y]) / scale;
            fills[y] = (1.0 - into) * shares[y];
            total += fills[y];
        }
        double moved = 0.0;
        if (partial >= 0) {
            moved = belief[partial] * (1.0 - own);
            rest -= belief[partial];
            fills[partial] = into;
        } else {
            fills[released] += Math.max(0.0, 1.0 - total);
        }

        boolean moves = fills[symbol] < 0.0;
        total = 0.0;
        for (int y = 0; y < symbols; y++) {
            if (fills[y] < 0.0) {
                continue;
            }
            double stays = y == partial ? own : 1.0;
            double marginal = belief[y] * stays + rest * fills[y] + moved * shares[y];
            double mass = Math.max(marginal, Math.max(stays, fills[y]) - growth * marginal);
            masses[y] = mass;
            if (y == symbol) {
                mass += gain * stays;
            }
            if (moves) {
                mass += gain * fills[y];
            } else if (symbol == partial) {
                mass += gain * (1.0 - own) * shares[y];
            }
            total += mass;
            marginals[y] = total;
        }
        double left = uniform * total;
        for (int y = 0; y < symbols; y++) {
            if (fills[y] >= 0.0 && left < marginals[y]) {
                return y;
            }
        }
        return released;
    }

    /** Computes what the release says, by Bayes' rule. */
    private void observe(double[] belief, int released) {
        double mass = masses[released];
        double total = 0.0;
        for (int x = 0; x < symbols; x++) {
            double ratio = mass;
            if (fills[x] < 0.0) {
                ratio = mass + gain * fills[released];
            } else if (x == partial) {
                ratio = mass + gain * (1.0 - own) * shares[released];
            }
            if (x == released) {
                ratio += gain * (x == partial ? own : 1.0);
            }
            posterior[x] = belief[x] * ratio;
            total += posterior[x];
        }
        for (int x = 0; x < symbols; x++) {
            posterior[x] /= total;
        }
    }

    private void predict(double[] belief) {
        Arrays.fill(belief, 0.0);
        for (int x = 0; x < symbols; x++) {
            double weight = posterior[x];
            double[] row = chain[x];
            for (int v = 0; v < symbols; v++) {
                belief[v] += weight * row[v];
            }
        }
        double total = 0.0;
        for (int v = 0; v < symbols; v++) {
            total += belief[v];
        }
        for (int v = 0; v < symbols; v++) {
            belief[v] /= total;
        }
    }
}
