-- The tables of Iceberg's SQL catalog, as pyiceberg's SqlCatalog and Iceberg's JdbcCatalog define them. They are in a schema
-- of their own, so that readers of Iceberg tables get rights on these alone.

CREATE SCHEMA IF NOT EXISTS iceberg;

CREATE TABLE IF NOT EXISTS iceberg.iceberg_tables (
    catalog_name               varchar(255) NOT NULL, -- the organisation
    table_namespace            varchar(255) NOT NULL,
    table_name                 varchar(255) NOT NULL,
    metadata_location          varchar(1000),
    previous_metadata_location varchar(1000),
    iceberg_type               varchar(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name)
);

CREATE TABLE IF NOT EXISTS iceberg.iceberg_namespace_properties (
    catalog_name   varchar(255)  NOT NULL,
    namespace      varchar(255)  NOT NULL,
    property_key   varchar(255)  NOT NULL,
    property_value varchar(1000) NOT NULL,
    PRIMARY KEY (catalog_name, namespace, property_key)
);
