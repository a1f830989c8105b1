-- Electricity meters send a first reading, and correct it by some watt-hours as the network finds out more.
-- `shown` says a correction only if it moves a district by more than 1 %; small ones add up until they do.
SET TICK '1 hour';

CREATE STREAM readings (hour INTEGER, meter INTEGER, district STRING, kwh DOUBLE)
  KEY (meter, hour) TIMESTAMP BY hour USING csv OPTIONS (path 'readings.csv');

CREATE QUERY shown WITH (revise_if = 'abs(new - old) > 0.01 * abs(old)') AS
SELECT district, ROUND(SUM(kwh), 3) AS kwh
FROM readings [FROM NOW-3 TO NOW SLIDE 4 HOUR]
GROUP BY district;

-- when the books are closed, everybody gets the exact sums
FLUSH REVISIONS OF shown;
