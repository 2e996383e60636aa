package signalbox.interop;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * mqadmin kept warm: one JVM for many commands.
 *
 * <p>Each line of standard input is one command, its arguments separated by tabs. What the command printed (both
 * streams) comes back as one line of base64, so that tables survive the pipe. Only arguments that mqadmin's own parser
 * accepts may be given: it ends the JVM on a usage error, which the harness reports as a dead shell.
 */
public final class AdminShell {
    private AdminShell() {
    }

    public static void main(String[] unused) throws Exception {
        PrintStream wire = System.out;
        PrintStream errors = System.err;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        wire.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream capture = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(capture);
            System.setErr(capture);
            try {
                MQAdminStartup.main0(line.split("\t"), null);
            } catch (Throwable failure) {
                failure.printStackTrace(capture);
            } finally {
                System.setOut(wire);
                System.setErr(errors);
            }
            wire.println(Base64.getEncoder().encodeToString(printed.toByteArray()));
        }
        System.exit(0);
    }
}
