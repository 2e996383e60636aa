package signalbox.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The official client as a servant of the harness: one JVM, many scenarios.
 *
 * <p>A command is one line {@code id verb key=value&key=value} (values URL-encoded); its answer one JSON line
 * {@code {"id":…,"ok":true,"value":…}} or {@code {"id":…,"ok":false,"error":…}}. Commands run side by side, so answers
 * may come in another order.
 */
public final class Driver {
    private static final PrintStream WIRE = System.out;

    private Driver() {
    }

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err); // whatever a library prints must not fall between the answers
        Producing producing = new Producing(arguments[0]);
        Directing directing = new Directing(producing);
        Odd odd = new Odd(arguments[0], producing);
        Consuming consuming = new Consuming(arguments[0]);
        Polling polling = new Polling(arguments[0]);
        Reading reading = new Reading(arguments[0]);
        Transacting transacting = new Transacting(arguments[0]);
        Asking asking = new Asking(arguments[0]);
        Later later = new Later(arguments[0]);
        Popping popping = new Popping(arguments[0]);
        Guarded guarded = new Guarded(arguments[0]);
        Verbs bare = bare(arguments[0]);
        ExecutorService workers = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        answer("{\"id\":0,\"ok\":true,\"value\":\"ready\"}");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", 3);
            Options options = Options.parse(parts.length > 2 ? parts[2] : "");
            workers.execute(() -> run(parts[0], () -> {
                switch (parts[1].substring(0, parts[1].indexOf('-'))) {
                    case "send":
                        return producing.run(parts[1], options);
                    case "direct":
                        return directing.run(parts[1], options);
                    case "odd":
                        return odd.run(parts[1], options);
                    case "push":
                        return consuming.run(parts[1], options);
                    case "lite":
                        return polling.run(parts[1], options);
                    case "tx":
                        return transacting.run(parts[1], options);
                    case "ask":
                        return asking.run(parts[1], options);
                    case "later":
                        return later.run(parts[1], options);
                    case "pop":
                        return popping.run(parts[1], options);
                    case "acl":
                        return guarded.run(parts[1], options);
                    case "bare":
                        return bare.run(parts[1], options);
                    default:
                        return reading.run(parts[1], options);
                }
            }));
        }
        System.exit(0);
    }

    /** What a family of verbs does. */
    interface Verbs {
        Object run(String verb, Options options) throws Exception;
    }

    /** {@link Bare} is not compiled against the 4.9 client, which has nothing of the kind. */
    private static Verbs bare(String nameServer) throws Exception {
        try {
            return (Verbs) Class.forName("signalbox.interop.Bare").getDeclaredConstructor(String.class)
                .newInstance(nameServer);
        } catch (ClassNotFoundException older) {
            return (verb, options) -> {
                throw new UnsupportedOperationException(verb);
            };
        }
    }

    private interface Work {
        Object run() throws Exception;
    }

    private static void run(String id, Work work) {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("id", Long.parseLong(id));
        try {
            Object value = work.run();
            reply.put("ok", true);
            reply.put("value", value);
        } catch (Throwable failure) {
            reply.put("ok", false);
            reply.put("error", failure.toString());
        }
        answer(Json.text(reply));
    }

    private static synchronized void answer(String line) {
        WIRE.println(line);
        WIRE.flush();
    }

    /** The {@code key=value&…} part of a command. */
    static final class Options {
        private final Map<String, String> values = new LinkedHashMap<>();

        static Options parse(String text) {
            Options options = new Options();
            for (String pair : text.split("&")) {
                int cut = pair.indexOf('=');
                if (cut > 0) {
                    options.values.put(pair.substring(0, cut),
                        URLDecoder.decode(pair.substring(cut + 1), StandardCharsets.UTF_8));
                }
            }
            return options;
        }

        String text(String key) {
            String value = values.get(key);
            if (value == null) {
                throw new IllegalArgumentException("missing option " + key);
            }
            return value;
        }

        String text(String key, String fallback) {
            return values.getOrDefault(key, fallback);
        }

        int number(String key, int fallback) {
            return Integer.parseInt(values.getOrDefault(key, Integer.toString(fallback)));
        }

        long wide(String key, long fallback) {
            return Long.parseLong(values.getOrDefault(key, Long.toString(fallback)));
        }
    }
}
