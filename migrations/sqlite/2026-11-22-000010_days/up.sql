-- One process writes to a file, so no node of an earlier release counts otherwise than this one.
SELECT 1;
