-- TelegraphCQ's stocks: windows declared by for-loops, over one closing price per symbol and trading day.
ClosingStockPrices(
  long timestamp;
  char(4) stockSymbol;
  float closingPrice;)
  TIMESTAMP BY timestamp USING csv OPTIONS (path 'prices.csv');

-- a snapshot: the first five days
CREATE QUERY firstFive AS
SELECT closingPrice, timestamp
FROM ClosingStockPrices
WHERE stockSymbol = 'MSFT'
for (; t == 0; t = -1) { WindowIs(ClosingStockPrices, 1, 5); };

-- a sliding window that hops: every fifth day the average of the last five
CREATE QUERY average AS
SELECT AVG(closingPrice)
FROM ClosingStockPrices
WHERE stockSymbol = 'MSFT'
for (t = ST; t < ST + 50; t += 5) { WindowIs(ClosingStockPrices, t - 4, t); };

-- a band join of the stream with itself: who closed above MSFT, on the last two days
CREATE QUERY above AS
SELECT c2.*
FROM ClosingStockPrices AS c1, ClosingStockPrices AS c2
WHERE c1.stockSymbol = 'MSFT' AND c2.stockSymbol != 'MSFT'
  AND c2.closingPrice > c1.closingPrice AND c2.timestamp = c1.timestamp
for (t = ST; t < ST + 20; t++) { WindowIs(c1, t - 1, t); WindowIs(c2, t - 1, t); };

-- and backward in time, from the newest window to the oldest
CREATE QUERY backward AS
SELECT MAX(closingPrice) AS highest
FROM ClosingStockPrices
for (t = 15; t > 0; t -= 5) { WindowIs(ClosingStockPrices, t - 4, t); };
