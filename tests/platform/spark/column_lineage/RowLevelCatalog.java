package headrace;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A catalog of tables whose rows can be changed one by one, for plans that are analysed and never run. */
public class RowLevelCatalog implements TableCatalog {
  public void initialize(String name, CaseInsensitiveStringMap options) {}

  public String name() { return "rows"; }

  public Identifier[] listTables(String[] namespace) { return new Identifier[0]; }

  /** Tables whose names begin with `delta` write what changes, others whole files again. */
  public Table loadTable(Identifier identifier) { return new Rows(identifier.name()); }

  public Table alterTable(Identifier identifier, TableChange[] changes) { throw new IllegalStateException(); }

  public boolean dropTable(Identifier identifier) { return false; }

  public void renameTable(Identifier from, Identifier to) {}

  public static class Rows implements SupportsRowLevelOperations {
    private final String name;

    public Rows(String name) { this.name = name; }

    public String name() { return name; }

    public StructType schema() { return StructType.fromDDL("id INT NOT NULL, n INT, s STRING"); }

    public Set capabilities() {
      return java.util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE);
    }

    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
      return new Builder(info.command(), name.startsWith("delta"));
    }
  }

  public static class Builder implements RowLevelOperationBuilder {
    private final RowLevelOperation.Command command;
    private final boolean delta;

    public Builder(RowLevelOperation.Command command, boolean delta) {
      this.command = command;
      this.delta = delta;
    }

    public RowLevelOperation build() { return delta ? (RowLevelOperation) new Delta(command) : new Files(command); }
  }

  public static class Files implements RowLevelOperation {
    private final RowLevelOperation.Command command;

    public Files(RowLevelOperation.Command command) { this.command = command; }

    public RowLevelOperation.Command command() { return command; }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { throw new IllegalStateException(); }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) { throw new IllegalStateException(); }
  }

  public static class Delta extends Files implements SupportsDelta {
    public Delta(RowLevelOperation.Command command) { super(command); }

    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) { throw new IllegalStateException(); }

    public NamedReference[] rowId() { return new NamedReference[] {Expressions.column("id")}; }
  }
}
