DROP INDEX payments_by_class;
