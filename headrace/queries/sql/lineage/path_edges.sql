-- The steps from some nodes, with the data or against it.
SELECT near, far, role, condition FROM catalog.process_steps(%(ids)s, %(up)s, %(at)s)
