DROP TABLE sealing;
DROP TABLE seals;
DROP TABLE chains;
