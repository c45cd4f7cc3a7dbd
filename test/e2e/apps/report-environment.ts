import { app, every, workflow } from 'waybill';
import { z } from 'zod';

/** Tells what it finds in its process's environment. */
const reportEnvironment = workflow({
  name: 'report-environment',
  input: z.object({ variable: z.string() }),
  run: (_, { variable }) => ({ value: process.env[variable] ?? null }),
});

export default app({
  name: 'report-environment',
  workflows: [reportEnvironment],
  manifests(scheduler) {
    scheduler.schedule(reportEnvironment, 'report', { variable: 'GREETING' }, every.hours(1));
  },
});
