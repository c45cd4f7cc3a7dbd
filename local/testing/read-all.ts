import type { Page } from '../../shared/operations/paging.ts';

const PAGE_SIZE = 200;

/** All pages of a list, one after the other. */
export async function readAll<Item>(read: (page: { limit: number; cursor?: string }) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: PAGE_SIZE, cursor });
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return items;
}
