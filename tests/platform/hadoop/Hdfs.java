import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS with one datanode in the folder that is named; prints its URI and ends with its standard input. */
public class Hdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, Path.of(arguments[0]).toString());
        conf.setBoolean("dfs.permissions.enabled", false);
        try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).format(true).build()) {
            cluster.waitActive();
            System.out.println("READY " + cluster.getFileSystem().getUri());
            while (System.in.read() != -1) {}
        }
        System.exit(0);
    }
}
