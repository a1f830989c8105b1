-- The Stream Tag Framework's patients: labels travel with the measurements, and queries can ask for them.
CREATE STREAM Patients (pid INTEGER, measure INTEGER, loc STRING, time INTEGER)
  TIMESTAMP BY time USING json OPTIONS (path 'patients.jsonl');

-- from now on for 30 minutes the patients say they are running
ATTACH TAG 'Running' TO Patients.measure
WITH TAG_SIGN = '+' AND TAG_LIFESPAN = 30 MIN AND TAG_MODE = OVERWRITE;

-- a standing query that tags: every high heart rate is dangerous
ATTACH TAG 'Dangerous' CONTINUOUSLY TO Patients.pid.value
WHERE (SELECT pid FROM Patients WHERE measure > 80)
WITH TAG_SIGN = '-';

-- data with the tags it carries
CREATE QUERY enriched AS
SELECT pid, measure, loc FROM Patients WHERE measure > 80 WITH TAGS;

-- the tags themselves
CREATE QUERY negative AS
SELECT TAGS FROM Patients WHERE TAGSIGN = '-';

-- what people think of each reading
CREATE QUERY opinions AS
SELECT pid, TAG_COUNT('+') AS likes, TAG_COUNT('-') AS dislikes
FROM Patients [FROM NOW-59 TO NOW SLIDE 60 SEC]
GROUP BY pid;
