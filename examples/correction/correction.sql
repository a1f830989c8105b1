-- Borealis' correction: the sum of IBM's prices in 30-minute windows every 20 minutes. Minutes are counted from midnight.
-- The price of 2:00 was reported as 25; at 2:40 it is corrected to 22, and both sums that used it are revised.
SET TICK '1 minute';

CREATE STREAM quotes (minute INTEGER, symbol STRING, price INTEGER)
  TIMESTAMP BY minute USING csv OPTIONS (path 'quotes.csv');

CREATE QUERY sums AS
SELECT SUM(price)
FROM quotes [RANGE BY '30 minutes' SLIDE BY '20 minutes' START AT 100]
WHERE symbol = 'IBM';
