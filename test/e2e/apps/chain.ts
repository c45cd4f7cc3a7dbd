import { app, every, workflow } from 'waybill';
import { z } from 'zod';

const link = workflow({ name: 'link', input: z.object({}), run: () => ({}) });

/** A runs once, B after A, C after B: nothing here comes back within the hour. */
export default app({
  name: 'chain',
  workflows: [link],
  manifests(scheduler) {
    scheduler.schedule(link, 'a', {}, every.hours(1)).thenInclude(link, 'b', {}).thenInclude(link, 'c', {});
  },
});
