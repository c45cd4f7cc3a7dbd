declare const brand: unique symbol;
type Branded<Name extends string> = number & { readonly [brand]: Name };

/** Ids are numbers inside and strings at the API's edge; the brand keeps one kind from being passed as another. */
export type ManifestId = Branded<'manifest'>;
export type ExecutionId = Branded<'execution'>;
export type WorkQueueId = Branded<'work_queue'>;
