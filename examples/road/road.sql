-- SNEEql's road: sensors read temperature and vibration every minute at four sites, traffic is reported as it passes,
-- and a table classifies temperatures. The schema is in the paper's own notation, with where the data is behind it.
road: sensed (site:integer, time:integer, temp:integer, vibration:integer)
  SITES (1, 2, 3, 4) EVERY 1 MIN TIMESTAMP BY time USING csv OPTIONS (path 'road.csv')
traffic: pushed (site:integer, time:integer, weight:integer, vehicle:integer)
  TIMESTAMP BY time USING csv OPTIONS (path 'traffic.csv')
tempClass: stored (temp:integer, category:string)
  USING csv OPTIONS (path 'tempclass.csv');

-- Q1, a stream query: strong vibration on a cold road
CREATE QUERY vibrations AS
SELECT road.time, road.site, road.vibration
FROM road
WHERE road.temp < 50 AND road.vibration > 20;

-- Q2, a window query: coldest and shakiest of the last ten minutes, where and when a vehicle passed
CREATE QUERY extremes AS
SELECT MIN(temp), MAX(vibration)
FROM road [FROM NOW-10 TO NOW SLIDE 1 MIN],
     traffic [FROM NOW-10 TO NOW SLIDE 1 ROW]
WHERE road.site = traffic.site AND road.time = traffic.time;

-- Q3, windows made a stream again: how each site is classified, when that is new
CREATE QUERY classes AS
ISTREAM(SELECT road.site, tempClass.category
        FROM road [FROM NOW-5 TO NOW SLIDE 5 MIN], tempClass [SCAN 10 MIN]
        WHERE tempClass.temp = road.temp);
