import { createActivationClient } from '../../../../shared/client/activation-client.ts';
import { type Capability, InvalidActivationError } from '../../../../shared/model/dormant.ts';

const jobs = createActivationClient({ functionName: process.env.ACTIVATOR! });

/** A function of the user's own: it knows neither the database nor the queues, only whom to ask and in whose name. */
export async function handler({ idempotencyKey, ...capability }: Capability & { idempotencyKey: string }) {
  const activations = ['a', 'b'].map((batch) => ({ externalId: `load-${batch}`, input: { batch } }));
  const results = await jobs.activateMany({ ...capability, key: idempotencyKey, activations });
  const repeated = await jobs.activateMany({ ...capability, key: idempotencyKey, activations });
  const refused = await jobs.activate({ ...capability, externalId: 'discover' }).catch((error: unknown) => error);
  return { results, repeated, refused: refused instanceof InvalidActivationError ? refused.externalIds : String(refused) };
}
