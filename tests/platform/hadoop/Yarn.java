import java.io.FileWriter;
import java.io.Writer;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** YARN with one node, whose yarn-site.xml is in the folder that is named; prints its address and ends with its standard input. */
public class Yarn {
    public static void main(String[] arguments) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        // The capacity scheduler needs a file with its queues.
        conf.set(
                "yarn.resourcemanager.scheduler.class",
                "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
        conf.setInt("yarn.nodemanager.resource.memory-mb", 4096);
        conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        conf.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        try (MiniYARNCluster cluster = new MiniYARNCluster("headrace", 1, 1, 1)) {
            cluster.init(conf);
            cluster.start();
            if (!cluster.waitForNodeManagersToConnect(300_000)) throw new IllegalStateException("no node");
            try (Writer file = new FileWriter(arguments[0] + "/yarn-site.xml")) {
                cluster.getConfig().writeXml(file);
            }
            System.out.println("READY " + cluster.getConfig().get(YarnConfiguration.RM_ADDRESS));
            while (System.in.read() != -1) {}
        }
        System.exit(0);
    }
}
