package signalbox.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Apache's own SQL92 filter behind a pipe. A line is an expression and properties, separated by tabs; the answer is
 * {@code true}, {@code false}, {@code null}, {@code error} (while evaluating) or {@code refused} (while compiling).
 */
public final class FilterOracle {
    private FilterOracle() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(line.split("\t", -1)));
        }
    }

    private static String answer(String[] parts) {
        Map<String, String> properties = new HashMap<>();
        for (int n = 1; n < parts.length; n++) {
            int cut = parts[n].indexOf('=');
            properties.put(parts[n].substring(0, cut), parts[n].substring(cut + 1));
        }
        Expression expression;
        try {
            expression = FilterFactory.INSTANCE.get("SQL92").compile(parts[0]);
        } catch (Throwable refusal) {
            return "refused";
        }
        try {
            return String.valueOf(expression.evaluate(new EvaluationContext() {
                @Override
                public Object get(String name) {
                    return properties.get(name);
                }

                @Override
                public Map<String, Object> keyValues() {
                    return null;
                }
            }));
        } catch (Throwable failure) {
            return "error";
        }
    }
}
