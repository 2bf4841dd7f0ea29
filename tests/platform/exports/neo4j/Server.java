import java.nio.file.Path;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;

/** A Neo4j in the folder that is named; prints its bolt URI and ends with its standard input. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        try (Neo4j server = Neo4jBuilders.newInProcessBuilder(Path.of(arguments[0])).withDisabledServer().build()) {
            System.out.println("READY " + server.boltURI());
            while (System.in.read() != -1) {}
        }
    }
}
