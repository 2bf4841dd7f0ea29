import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.tinkerpop.gremlin.server.GremlinServer;
import org.apache.tinkerpop.gremlin.server.Settings;

/** A JanusGraph in memory; prints its address and ends with its standard input. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Path graph = folder.resolve("graph.properties");
        Files.writeString(graph, """
            gremlin.graph=org.janusgraph.core.JanusGraphFactory
            storage.backend=inmemory
            query.smart-limit=false
            """);
        Path script = folder.resolve("init.groovy");
        Files.writeString(script, "def globals = [:]\nglobals << [g : traversal().withEmbedded(graph)]\n");
        Path yaml = folder.resolve("server.yaml");
        int port;
        try (var socket = new java.net.ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        Files.writeString(yaml, String.format("""
            host: 127.0.0.1
            port: %d
            gremlinPool: 2
            threadPoolWorker: 1
            evaluationTimeout: 120000
            channelizer: org.apache.tinkerpop.gremlin.server.channel.WebSocketChannelizer
            graphs: {graph: '%s'}
            scriptEngines:
              gremlin-groovy:
                plugins:
                  org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin: {}
                  org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {}
                  org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin: {}
                  org.apache.tinkerpop.gremlin.jsr223.ImportGremlinPlugin: {classImports: [java.lang.Math], methodImports: [java.lang.Math#*]}
                  org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {files: ['%s']}
            serializers:
              - className: org.apache.tinkerpop.gremlin.util.ser.GraphSONMessageSerializerV3
                config: {ioRegistries: [org.janusgraph.graphdb.tinkerpop.JanusGraphIoRegistry]}
            maxContentLength: 16777216
            """, port, graph, script));
        GremlinServer server = new GremlinServer(Settings.read(yaml.toString()));
        server.start().join();
        System.out.println("READY ws://127.0.0.1:" + port + "/gremlin");
        while (System.in.read() != -1) {}
        server.stop().join();
        System.exit(0);
    }
}
