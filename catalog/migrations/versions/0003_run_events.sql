-- How a run of another system ended: only a GENUINE end is a materialization.
ALTER TABLE catalog.run_attempt
    ADD COLUMN ending text CHECK (ending IN ('GENUINE', 'FORCED', 'BYPASSED'));
